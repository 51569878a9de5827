-- Claims messages that are due, of each aggregate only the first that was not delivered; a dead one holds it back.
-- $1 token; $2 leaseMs; $3 how many at most
-- Rows: id, aggregate, type, payload, attempts, added_ms
WITH first AS MATERIALIZED (
  SELECT m.id FROM sluice.outbox m
  WHERE m.delivered_at IS NULL AND m.dead_at IS NULL AND m.due_at <= clock_timestamp()
    AND NOT EXISTS (
      SELECT FROM sluice.outbox earlier
      WHERE earlier.aggregate = m.aggregate AND earlier.id < m.id AND earlier.delivered_at IS NULL
    )
  ORDER BY m.id
  LIMIT $3::integer
  FOR UPDATE OF m SKIP LOCKED
)
UPDATE sluice.outbox AS m
SET
  claimed_by = $1::text,
  attempts = m.attempts + 1,
  due_at = clock_timestamp() + $2::float8 * interval '1 millisecond'
FROM first
WHERE m.id = first.id
RETURNING
  m.id, m.aggregate, m.type, m.payload::text AS payload, m.attempts,
  floor(extract(epoch FROM m.added_at) * 1000) AS added_ms
