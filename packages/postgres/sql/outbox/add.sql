-- Adds a message to the caller's transaction. Those who add for one aggregate do it one after the other, until their
-- transactions end: so its numbers rise in the order in which they are committed.
-- $1 aggregate; $2 type; $3 payload, as JSON
-- Row: id
WITH turn AS MATERIALIZED (
  SELECT pg_advisory_xact_lock(hashtextextended('sluice.outbox ' || $1::text, 0))
)
INSERT INTO sluice.outbox (aggregate, type, payload, added_at, due_at)
SELECT $1::text, $2::text, $3::json, clock_timestamp(), clock_timestamp() FROM turn
RETURNING id
