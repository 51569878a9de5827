-- Removes some of the messages that were delivered a while ago, and leaves those that somebody else is removing.
-- $1 how many at most; $2 for how many ms they are kept
-- Row: removed
WITH old AS MATERIALIZED (
  SELECT id FROM sluice.outbox
  WHERE delivered_at <= clock_timestamp() - $2::float8 * interval '1 millisecond'
  ORDER BY delivered_at
  LIMIT $1::integer
  FOR UPDATE SKIP LOCKED
),
removed AS (
  DELETE FROM sluice.outbox AS m USING old WHERE m.id = old.id RETURNING m.id
)
SELECT count(*) AS removed FROM removed
