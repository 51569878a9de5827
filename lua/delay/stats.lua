-- Counts the tasks of a queue. One whose visibility has run out is due again, although nobody has claimed it yet.
-- KEYS: scheduled, processing, dead (see task.lua).
-- Reply: {not yet due, due, processing, dead, ms for which the oldest one has been due}
-- Cost: O(log n) in the tasks.
-- #include task
-- #include clock

local scheduledKey, processingKey, deadKey = KEYS[1], KEYS[2], KEYS[3]

local function overdue(key)
  local first = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
  return call('ZCOUNT', key, '-inf', now), first and max(0, now - first) or 0
end

local due, oldestMs = overdue(scheduledKey)
local expired, oldestExpiredMs = overdue(processingKey)
local waiting, processing = call('ZCARD', scheduledKey), call('ZCARD', processingKey)
return { waiting - due, due + expired, processing - expired, call('ZCARD', deadKey), max(oldestMs, oldestExpiredMs) }
