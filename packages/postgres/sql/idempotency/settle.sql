-- Ends a claim: completed, tombstone, unknown, or free again.
-- $1 id; $2 subject; $3 token, or NULL for the operator, who settles what is unknown and nothing else;
-- $4 the new state; $5 its ttlMs, unless the operator confirms; $6 payload
-- Row: reply ('settled', 'settled-late' or 'refused'); none after a race: ask again
WITH asked AS MATERIALIZED (
  SELECT clock_timestamp() AS now
),
verdict AS MATERIALIZED (
  SELECT CASE
    WHEN r.id IS NULL OR r.state = 'free'
      THEN CASE WHEN $3::text IS NOT NULL AND $4::text = 'free' THEN 'withdraw' ELSE 'refused' END
    WHEN $3::text IS NULL
      THEN CASE WHEN r.state = 'unknown' OR r.lease_end <= now THEN 'change' ELSE 'refused' END
    WHEN r.owner <> $3::text THEN 'refused'
    WHEN r.state IN ('claimed', 'unknown') THEN 'change'
    -- The reply was lost and the client has sent it again.
    WHEN r.state = $4::text THEN 'settled'
    ELSE 'refused'
  END AS verdict
  FROM asked LEFT JOIN sluice.records r ON r.id = $1::bytea AND r.expires_at > now
),
changed AS (
  UPDATE sluice.records AS r
  SET
    state = $4::text,
    late = r.state = 'unknown' OR r.lease_end <= now,
    since = CASE
      WHEN $4::text <> 'unknown' THEN now
      WHEN r.state = 'unknown' THEN r.since
      ELSE least(r.lease_end, now)
    END,
    lease_end = NULL,
    -- The operator confirms a record for as long as its owner wanted.
    expires_at = now + CASE
      WHEN $3::text IS NULL AND $4::text <> 'free' THEN coalesce(r.own_ttl, r.expires_at - r.lease_end)
      ELSE $5::float8 * interval '1 millisecond'
    END,
    own_ttl = CASE WHEN $4::text = 'unknown' THEN $5::float8 * interval '1 millisecond' END,
    owner = coalesce($3::text, repeat('-', 22)),
    payload = $6::bytea
  FROM asked, verdict
  WHERE verdict = 'change' AND r.id = $1::bytea AND r.expires_at > clock_timestamp()
    AND r.state IN ('claimed', 'unknown')
    AND CASE
      WHEN $3::text IS NULL THEN r.state = 'unknown' OR r.lease_end <= clock_timestamp()
      ELSE r.owner = $3::text
    END
  RETURNING r.late
),
-- What a claim leaves that was withdrawn before it arrived: should it still arrive, it finds its own token here. It
-- stays for one lease, like everything free, so that fences rise even if the clock is set back.
withdrawn AS (
  INSERT INTO sluice.records AS r
    (id, subject, state, attempt, fence, since, expires_at, owner, fingerprint, caller)
  SELECT
    $1::bytea, $2::text, 'free', 0, 0, now, now + $5::float8 * interval '1 millisecond', $3::text, '', ''
  FROM asked, verdict
  WHERE verdict = 'withdraw'
  ON CONFLICT (id) DO UPDATE SET
    state = 'free', since = excluded.since, lease_end = NULL, expires_at = excluded.expires_at,
    own_ttl = NULL, owner = excluded.owner, payload = NULL
  WHERE r.state = 'free' OR r.expires_at <= clock_timestamp()
  RETURNING r.id
)
SELECT CASE WHEN late THEN 'settled-late' ELSE 'settled' END AS reply FROM changed
UNION ALL
SELECT 'settled' FROM withdrawn
UNION ALL
SELECT verdict FROM verdict WHERE verdict IN ('settled', 'refused')
