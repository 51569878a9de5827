-- Has a dead message tried again, now and as often as a new one.
-- $1 id
-- Row: one if it was dead
UPDATE sluice.outbox
SET dead_at = NULL, attempts = 0, error = NULL, due_at = clock_timestamp()
WHERE id = $1::bigint AND dead_at IS NOT NULL
RETURNING id
