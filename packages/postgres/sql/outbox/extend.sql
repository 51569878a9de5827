-- Prolongs the claim of a relay that is still busy with a message. One that is over stays over.
-- $1 id; $2 token; $3 leaseMs
-- Row: one if it was prolonged
UPDATE sluice.outbox
SET due_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
WHERE id = $1::bigint AND claimed_by = $2::text AND delivered_at IS NULL AND due_at > clock_timestamp()
RETURNING id
