-- Removes some of the records that have expired, and leaves those that somebody else is removing.
-- $1 how many at most
-- Row: removed
WITH expired AS MATERIALIZED (
  SELECT id FROM sluice.records
  WHERE expires_at <= clock_timestamp()
  ORDER BY expires_at
  LIMIT $1::integer
  FOR UPDATE SKIP LOCKED
),
removed AS (
  DELETE FROM sluice.records AS r USING expired WHERE r.id = expired.id RETURNING r.id
)
SELECT count(*) AS removed FROM removed
