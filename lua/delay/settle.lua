-- Ends runs, one or many, each by the receipt of its claim.
-- KEYS: tasks, scheduled, processing, dead (see task.lua).
-- ARGV: the channel for hints; 1 if it is sharded; then five for each run: id; receipt; what becomes of the task: A
--       acked, it is gone; R retried after so many ms; D dead, of this error; B back at once, the attempt counts;
--       U back at once, it does not, since no handler saw the task; the ms of R; the error of D, as JSON.
-- Reply: for each run 1 (so it is), 0 (the receipt is that of no run that still can end) or 2 (there is no such task)
-- Cost: O(log n) in the tasks, for each run.
-- #include task
-- #include clock
-- #include hint

local tasksKey, scheduledKey, processingKey, deadKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel, sharded = ARGV[1], ARGV[2]

local ids, stored = {}, {}
for at = 3, #ARGV, 5 do ids[#ids + 1] = ARGV[at] end
for i, packed in ipairs(call('HMGET', tasksKey, spread(ids))) do stored[ids[i]] = packed end

local acked, begun, replies = {}, {}, {}

local function schedule(id, packed, back, dueAt)
  local attempt, fence, due = read('>I4I7I6', packed, 2)
  local waits = 'B' .. pack('>I4I7I6', attempt - back, fence, due) .. sub(packed, 19)
  call('HSET', tasksKey, id, waits)
  call('ZADD', scheduledKey, dueAt or min(due, now), id)
  call('ZREM', processingKey, id)
  begun[id] = true
  return waits
end

-- Each returns what is stored of the task from then on.
local endings = {
  A = function(id)
    acked[#acked + 1] = id
    return false
  end,
  R = function(id, packed, ms) return schedule(id, packed, 0, now + ms) end,
  B = function(id, packed) return schedule(id, packed, 0) end,
  U = function(id, packed) return schedule(id, packed, 1) end,
  D = function(id, packed, _, problem)
    local dead = 'D' .. sub(packed, 2, HEADER) .. withError(problem, sub(packed, HEADER + 1))
    call('HSET', tasksKey, id, dead)
    call('ZADD', deadKey, now, id)
    call('ZREM', processingKey, id)
    return dead
  end,
}

-- The client may have sent the same again, since the first reply was lost.
local function isRepeated(state, ending)
  if state == 'D' then return ending == 'D' end
  return state == 'B' and (ending == 'R' or ending == 'B' or ending == 'U')
end

for i, id in ipairs(ids) do
  local at = 5 * i - 2
  local packed, ending = stored[id], ARGV[at + 2]
  if not packed then
    replies[i] = 2
  elseif sub(packed, 19, HEADER) ~= ARGV[at + 1] then
    replies[i] = 0
  elseif sub(packed, 1, 1) ~= 'R' then
    replies[i] = isRepeated(sub(packed, 1, 1), ending) and 1 or 0
  else
    -- An id may come again: a run that went stale ends beside the one that followed it.
    stored[id] = endings[ending](id, packed, tonumber(ARGV[at + 3]), ARGV[at + 4])
    replies[i] = 1
  end
end

if #acked > 0 then
  call('ZREM', processingKey, spread(acked))
  call('HDEL', tasksKey, spread(acked))
end
if next(begun) then hint(scheduledKey, begun, channel, sharded) end
return replies
