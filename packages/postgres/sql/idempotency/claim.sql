-- Claims a key for one run of the work, or says why not and brings what is stored.
-- $1 id; $2 subject; $3 token; $4 fingerprint; $5 caller; $6 leaseMs; $7 ttlMs (of the record: lease and result);
-- $8 whether an unknown outcome may be run again
-- Row: reply, fence, attempt, running_ms, lease_left_ms, since_ms, payload; none after a race: ask again
-- What a claim finds without being granted costs no write; a grant looks again at the row that it has locked.
WITH asked AS MATERIALIZED (
  SELECT clock_timestamp() AS now
),
standing AS MATERIALIZED (
  SELECT
    CASE
      WHEN r.state = 'free' THEN CASE WHEN r.owner = $3::text THEN 'withdrawn' END
      -- Before everything else, the caller first: a stranger learns nothing, not even whether it asks for the same.
      WHEN r.caller <> $5::text THEN 'stranger'
      WHEN r.fingerprint <> $4::text THEN 'mismatch'
      WHEN r.state IN ('completed', 'tombstone') THEN r.state
      -- The reply was lost and the client has sent the same claim again: the grant is the one that it already has.
      WHEN r.owner = $3::text THEN NULL
      WHEN r.state = 'claimed' AND r.lease_end > now THEN 'in-progress'
      WHEN NOT $8::boolean THEN 'unknown'
    END AS reply,
    now - r.since AS running,
    r.lease_end - now AS lease_left,
    CASE r.state WHEN 'claimed' THEN r.lease_end ELSE r.since END AS since,
    r.payload
  FROM sluice.records r, asked
  WHERE r.id = $1::bytea AND r.expires_at > now
),
granted AS (
  INSERT INTO sluice.records AS r
    (id, subject, state, attempt, fence, since, lease_end, expires_at, owner, fingerprint, caller)
  SELECT
    $1::bytea, $2::text, 'claimed', 1, floor(extract(epoch FROM now) * 1000000)::bigint, now,
    now + $6::float8 * interval '1 millisecond', now + $7::float8 * interval '1 millisecond',
    $3::text, $4::text, $5::text
  FROM asked
  WHERE NOT EXISTS (SELECT FROM standing WHERE reply IS NOT NULL)
  ON CONFLICT (id) DO UPDATE SET
    state = 'claimed',
    attempt = CASE
      WHEN r.state = 'free' OR r.expires_at <= clock_timestamp() THEN 1
      WHEN r.owner = excluded.owner THEN r.attempt
      ELSE r.attempt + 1
    END,
    fence = CASE
      WHEN r.owner = excluded.owner AND r.expires_at > clock_timestamp() THEN r.fence
      ELSE greatest(r.fence + 1, excluded.fence)
    END,
    since = excluded.since,
    lease_end = excluded.lease_end,
    expires_at = excluded.expires_at,
    own_ttl = NULL,
    owner = excluded.owner,
    fingerprint = excluded.fingerprint,
    caller = excluded.caller,
    late = false,
    payload = NULL
  WHERE r.expires_at <= clock_timestamp()
    OR CASE
      WHEN r.state = 'free' THEN r.owner <> excluded.owner
      WHEN r.caller <> excluded.caller OR r.fingerprint <> excluded.fingerprint THEN false
      WHEN r.state IN ('completed', 'tombstone') THEN false
      WHEN r.owner = excluded.owner THEN true
      ELSE $8::boolean AND (r.state = 'unknown' OR r.lease_end <= clock_timestamp())
    END
  RETURNING fence, attempt
)
SELECT 'started' AS reply, fence, attempt, NULL AS running_ms, NULL AS lease_left_ms, NULL AS since_ms, NULL AS payload
FROM granted
UNION ALL
SELECT
  reply, NULL, NULL, floor(extract(epoch FROM running) * 1000), ceil(extract(epoch FROM lease_left) * 1000),
  floor(extract(epoch FROM since) * 1000), payload
FROM standing
WHERE reply IS NOT NULL
