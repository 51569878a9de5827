-- Removes a dead task.
-- KEYS: tasks, dead (see task.lua).
-- ARGV: id.
-- Reply: 1 (removed) or 0 (it is not dead)
-- Cost: O(log n) in the dead tasks.
local call = redis.call
local tasksKey, deadKey = KEYS[1], KEYS[2]
local id = ARGV[1]

if call('ZREM', deadKey, id) == 0 then return 0 end
call('HDEL', tasksKey, id)
return 1
