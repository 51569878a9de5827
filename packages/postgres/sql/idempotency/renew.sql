-- Prolongs a lease that its owner still holds. One that is over stays over: others may have been told so.
-- $1 id; $2 token; $3 leaseMs; $4 ttlMs (of the record: lease and result)
-- Row: one if it was prolonged
UPDATE sluice.records
SET
  lease_end = clock_timestamp() + $3::float8 * interval '1 millisecond',
  expires_at = clock_timestamp() + $4::float8 * interval '1 millisecond'
WHERE id = $1::bytea AND state = 'claimed' AND owner = $2::text AND lease_end > clock_timestamp()
RETURNING true AS renewed
