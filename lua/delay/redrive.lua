-- Schedules a dead task now, with its attempts back at zero. Its fences go on rising.
-- KEYS: tasks, scheduled, dead (see task.lua).
-- ARGV: id; the channel for hints; 1 if it is sharded.
-- Reply: 1 (scheduled) or 0 (it is not dead)
-- Cost: O(log n) in the waiting and the dead tasks.
-- #include task
-- #include clock
-- #include hint

local tasksKey, scheduledKey, deadKey = KEYS[1], KEYS[2], KEYS[3]
local id, channel, sharded = ARGV[1], ARGV[2], ARGV[3]

local packed = call('HGET', tasksKey, id)
if not packed or sub(packed, 1, 1) ~= 'D' then return 0 end
local fence = read('>I7', packed, 6)
local payload = sub(packed, HEADER + 5 + read('>I4', packed, HEADER + 1))
call('HSET', tasksKey, id, packTask('B', 0, fence, now, NO_RECEIPT, payload))
call('ZADD', scheduledKey, now, id)
call('ZREM', deadKey, id)
hint(scheduledKey, { [id] = true }, channel, sharded)
return 1
