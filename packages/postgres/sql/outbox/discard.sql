-- Removes a dead message, so that the others of its aggregate go on.
-- $1 id
-- Row: one if it was dead
DELETE FROM sluice.outbox WHERE id = $1::bigint AND dead_at IS NOT NULL RETURNING id
