-- Tells of a record, and changes nothing.
-- $1 id
-- Row: state, since_ms, attempt, fence, left_ms (until the lease ends or the record expires), payload
SELECT
  state, floor(extract(epoch FROM since) * 1000) AS since_ms, attempt, fence,
  ceil(extract(epoch FROM ends - now) * 1000) AS left_ms, payload
FROM (
  SELECT
    now, attempt, fence, payload,
    CASE WHEN lease_end <= now THEN 'unknown' ELSE r.state END AS state,
    CASE WHEN lease_end <= now THEN lease_end ELSE r.since END AS since,
    CASE WHEN lease_end > now THEN lease_end ELSE expires_at END AS ends
  FROM sluice.records r, (SELECT clock_timestamp() AS now) AS asked
  WHERE r.id = $1::bytea AND r.state <> 'free' AND r.expires_at > now
) AS told
