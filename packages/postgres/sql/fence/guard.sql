-- Accepts a fence at least as high as the highest accepted so far, and tells the highest: a lower one was refused.
-- Its row stays locked until the caller's transaction ends, so of two at once one waits for the other.
-- $1 id; $2 resource, for people; $3 fence
-- Row: fence
INSERT INTO sluice.fences AS f (id, resource, fence, accepted_at)
VALUES ($1::bytea, $2::text, $3::bigint, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET
  fence = greatest(f.fence, excluded.fence),
  accepted_at = CASE WHEN excluded.fence >= f.fence THEN excluded.accepted_at ELSE f.accepted_at END
RETURNING fence
