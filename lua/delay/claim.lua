-- Claims tasks: those whose visibility has run out first, or lets them die after their last attempt, then those due.
-- KEYS: tasks, scheduled, processing, dead, fence (see task.lua).
-- ARGV: how many at most; visibilityMs; maxAttempts; receipt.
-- Reply: flat: ms until the next one is claimable, or -1; how many died; id, attempt, fence of each of these; then of
--        each claimed task: id, payload, attempt, fence, due (epoch ms), ms for which it was claimable.
-- Cost: O(log n) in the tasks, for each one claimed; O(1) when there is none.
-- #include task
-- #include clock

local tasksKey, scheduledKey, processingKey, deadKey, fenceKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local most, visibilityMs, maxAttempts, receipt = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
-- As long as a server's clock may be set back without fences that fall.
local FENCE_TTL_MS = 30 * 86400000
-- Twin: packages/core/src/delay/task.ts
local EXPIRED = '{"name":"VisibilityExpired","message":"no worker ended its last attempt in time"}'

local died, taken, at = {}, {}, 0
local values, deadlines, begun, fence = {}, {}, {}, false

local function mint(last)
  fence = fence and fence + 1 or max(nowUs, (tonumber(call('GET', fenceKey)) or 0) + 1)
  fence = max(fence, last + 1)
  return fence
end

local function store(id, packed)
  values[#values + 1], values[#values + 2] = id, packed
end

local function take(id, packed, score)
  local attempt, last, due, payload = 0, 0, score, sub(packed, 2)
  if sub(packed, 1, 1) ~= 'W' then
    attempt, last, due = read('>I4I7I6', packed, 2)
    payload = sub(packed, HEADER + 1)
  end
  attempt, last = attempt + 1, mint(last)
  store(id, packTask('R', attempt, last, due, receipt, payload))
  deadlines[#deadlines + 1], deadlines[#deadlines + 2] = now + visibilityMs, id
  taken[at + 1], taken[at + 2], taken[at + 3] = id, payload, attempt
  taken[at + 4], taken[at + 5], taken[at + 6] = last, due, now - score
  at = at + 6
end

local function bury(id, packed, attempt, last)
  died[#died + 1], died[#died + 2], died[#died + 3] = id, attempt, last
  store(id, 'D' .. sub(packed, 2, HEADER) .. withError(EXPIRED, sub(packed, HEADER + 1)))
end

-- Tasks of `key` that are claimable by now, with what is stored of each; ids of which nothing is stored are dropped.
local function eachReady(key, limit, use)
  local ready = call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
  if #ready == 0 then return {} end
  local ids = {}
  for i = 1, #ready, 2 do ids[#ids + 1] = ready[i] end
  local packed = call('HMGET', tasksKey, spread(ids))
  for i, id in ipairs(ids) do
    if packed[i] then use(id, packed[i], tonumber(ready[2 * i])) else call('ZREM', key, id) end
  end
  return ids
end

eachReady(processingKey, most, function(id, packed, score)
  local attempt, last = read('>I4I7', packed, 2)
  if attempt >= maxAttempts then bury(id, packed, attempt, last) else take(id, packed, score) end
end)
local room = most - #deadlines / 2
if room > 0 then begun = eachReady(scheduledKey, room, take) end

if #values > 0 then call('HSET', tasksKey, spread(values)) end
if #deadlines > 0 then
  call('ZADD', processingKey, spread(deadlines))
  call('SET', fenceKey, string.format('%.0f', fence), 'PX', FENCE_TTL_MS)
end
if #begun > 0 then call('ZREM', scheduledKey, spread(begun)) end
for i = 1, #died, 3 do
  call('ZADD', deadKey, now, died[i])
  call('ZREM', processingKey, died[i])
end

local function firstOf(key)
  return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) or math.huge
end

local nextAt = min(firstOf(scheduledKey), firstOf(processingKey))
local reply = { nextAt == math.huge and -1 or max(0, math.ceil(nextAt - nowUs / 1000)), #died / 3 }
for i = 1, #died do reply[i + 2] = died[i] end
for i = 1, at do reply[#died + i + 2] = taken[i] end
return reply
