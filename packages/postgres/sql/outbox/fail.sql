-- Notes that a message could not be delivered: it is due again later, or dead.
-- $1 id; $2 token; $3 ms until it is due; $4 the error, as JSON; $5 whether it is dead; $6 attempts so far
-- Row: one if the message was still its relay's
UPDATE sluice.outbox
SET
  claimed_by = NULL,
  error = $4::json,
  attempts = $6::integer,
  due_at = clock_timestamp() + $3::float8 * interval '1 millisecond',
  dead_at = CASE WHEN $5::boolean THEN clock_timestamp() END
WHERE id = $1::bigint AND claimed_by = $2::text AND delivered_at IS NULL
RETURNING id
