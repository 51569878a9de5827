-- Tells of dead tasks, the one that died first at first.
-- KEYS: tasks, dead (see task.lua).
-- ARGV: how many to skip; how many at most.
-- Reply: flat, for each: id, payload, attempt, due (epoch ms), time of death (epoch ms), error (JSON)
-- Cost: O(log n) in the dead tasks, and O(1) for each that is told.
-- #include task

local tasksKey, deadKey = KEYS[1], KEYS[2]
local offset, limit = tonumber(ARGV[1]), tonumber(ARGV[2])

local listed, reply = call('ZRANGE', deadKey, offset, offset + limit - 1, 'WITHSCORES'), {}
for i = 1, #listed, 2 do
  local packed = call('HGET', tasksKey, listed[i])
  if packed and sub(packed, 1, 1) == 'D' then
    local attempt, _, due = read('>I4I7I6', packed, 2)
    local length = read('>I4', packed, HEADER + 1)
    local at = #reply
    reply[at + 1], reply[at + 2] = listed[i], sub(packed, HEADER + 5 + length)
    reply[at + 3], reply[at + 4], reply[at + 5] = attempt, due, tonumber(listed[i + 1])
    reply[at + 6] = sub(packed, HEADER + 5, HEADER + 4 + length)
  end
end
return reply
