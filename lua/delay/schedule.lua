-- Schedules one or many tasks, each unless its id is known.
-- KEYS: tasks, scheduled (see task.lua).
-- ARGV: the channel for hints; 1 if it is sharded; then four for each task: id; '+' and its delay in ms, or '@' and its
--       due time in epoch ms; how many may wait, or ''; payload.
-- Reply: for each task 1 (scheduled), 0 (its id is known), -1 (too many wait) or -2 (due in more than ten years)
-- Cost: O(log n) in the waiting tasks, for each task.
-- #include task
-- #include clock
-- #include hint

local tasksKey, scheduledKey = KEYS[1], KEYS[2]
local channel, sharded = ARGV[1], ARGV[2]
local LONGEST_MS = 3653 * 86400000

local ids = {}
for at = 3, #ARGV, 4 do ids[#ids + 1] = ARGV[at] end
local known = call('HMGET', tasksKey, spread(ids))
local begun, times, values, replies, waiting = {}, {}, {}, {}, false

local function dueOf(when)
  local ms = tonumber(sub(when, 2))
  return sub(when, 1, 1) == '+' and now + ms or max(now, ms)
end

local function isFull(most)
  if most == '' then return false end
  waiting = waiting or call('ZCARD', scheduledKey)
  return waiting + #times / 2 >= tonumber(most)
end

for i, id in ipairs(ids) do
  local at = 4 * i - 1
  local due = dueOf(ARGV[at + 1])
  if due > now + LONGEST_MS then
    replies[i] = -2
  elseif known[i] or begun[id] then
    replies[i] = 0
  elseif isFull(ARGV[at + 2]) then
    replies[i] = -1
  else
    begun[id] = true
    values[#values + 1], values[#values + 2] = id, 'W' .. ARGV[at + 3]
    times[#times + 1], times[#times + 2] = due, id
    replies[i] = 1
  end
end

if #times > 0 then
  call('HSET', tasksKey, spread(values))
  call('ZADD', scheduledKey, spread(times))
  hint(scheduledKey, begun, channel, sharded)
end
return replies
