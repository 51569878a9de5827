-- A page of the records whose outcome is unknown, in the order in which their keys were first claimed.
-- $1 the number after which it begins; $2 how many at most
-- Rows: number, subject, since_ms, attempt, fence, left_ms
SELECT
  number, subject, attempt, fence,
  floor(extract(epoch FROM coalesce(lease_end, since)) * 1000) AS since_ms,
  ceil(extract(epoch FROM expires_at - now) * 1000) AS left_ms
FROM sluice.records, (SELECT clock_timestamp() AS now) AS asked
WHERE number > $1::bigint AND state IN ('claimed', 'unknown')
  AND (state = 'unknown' OR lease_end <= now) AND expires_at > now
ORDER BY number
LIMIT $2::integer
