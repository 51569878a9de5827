-- Removes a task that waits; one that was claimed or is dead is left alone.
-- KEYS: tasks, scheduled (see task.lua).
-- ARGV: id.
-- Reply: 1 (removed) or 0
-- Cost: O(log n) in the waiting tasks.
local call = redis.call
local tasksKey, scheduledKey = KEYS[1], KEYS[2]
local id = ARGV[1]

if call('ZREM', scheduledKey, id) == 0 then return 0 end
call('HDEL', tasksKey, id)
return 1
