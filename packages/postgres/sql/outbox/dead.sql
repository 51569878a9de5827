-- A page of the dead messages, oldest first.
-- $1 the id after which it begins; $2 how many at most
-- Rows: id, aggregate, type, payload, attempts, error, added_ms, died_ms
SELECT
  id, aggregate, type, payload::text AS payload, attempts, error::text AS error,
  floor(extract(epoch FROM added_at) * 1000) AS added_ms,
  floor(extract(epoch FROM dead_at) * 1000) AS died_ms
FROM sluice.outbox
WHERE dead_at IS NOT NULL AND id > $1::bigint
ORDER BY id
LIMIT $2::integer
