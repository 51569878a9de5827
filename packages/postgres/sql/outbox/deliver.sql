-- Notes that a message was delivered and claims the next one of its aggregate, in one step: so whoever has an aggregate
-- goes through it without searching for it again.
-- $1 id; $2 token; $3 leaseMs; $4 whether to claim the next one
-- Row: as claim.sql, if there is a next one and it is due
WITH delivered AS (
  UPDATE sluice.outbox
  SET delivered_at = clock_timestamp(), claimed_by = NULL, error = NULL
  WHERE id = $1::bigint AND claimed_by = $2::text AND delivered_at IS NULL
  RETURNING aggregate
),
next AS MATERIALIZED (
  SELECT m.id FROM sluice.outbox m, delivered
  WHERE m.aggregate = delivered.aggregate AND m.id > $1::bigint AND m.delivered_at IS NULL AND $4::boolean
  ORDER BY m.id
  LIMIT 1
  FOR UPDATE OF m SKIP LOCKED
)
UPDATE sluice.outbox AS m
SET
  claimed_by = $2::text,
  attempts = m.attempts + 1,
  due_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
FROM next
WHERE m.id = next.id AND m.dead_at IS NULL AND m.due_at <= clock_timestamp()
RETURNING
  m.id, m.aggregate, m.type, m.payload::text AS payload, m.attempts,
  floor(extract(epoch FROM m.added_at) * 1000) AS added_ms
