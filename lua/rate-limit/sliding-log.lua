-- Sliding log: exact at every position of the window.
-- State: a list; each entry is the time of an admitted call (5 bytes, ms modulo 2^40) and the running total of costs
-- (3 bytes, modulo 2^24). What a window holds is the difference of two totals, so entries that have left need
-- not be removed to be right; a few are, at each charge. The first entry is the newest one known to have left.
-- Twin: packages/core/src/rate-limit/algorithms/sliding-log.ts
local slidingLog = {}
local LAYOUT, TIMES, TOTALS, TRIM = '>I5I3', 1099511627776, 16777216, 64

-- Milliseconds from the entry's time to `now`; negative when the clock was set back.
local function age(now, time)
  return (now - time + TIMES / 2) % TIMES - TIMES / 2
end

local function since(total, earlier)
  return (total - earlier) % TOTALS
end

local function entry(key, index)
  return struct.unpack(LAYOUT, redis.call('LINDEX', key, index))
end

-- The first index in [low, length) for which `test(time, total)` holds, where it holds from some index on; else length.
local function search(key, low, length, test)
  local probe, step = low, 1
  while probe < length and not test(entry(key, probe)) do
    low = probe + 1
    probe, step = probe + step, step * 2
  end
  local high = math.min(probe, length)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if test(entry(key, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return high
end

function slidingLog.read(key, policy, now)
  local last = redis.pcall('LINDEX', key, -1)
  if type(last) ~= 'string' or #last ~= 8 then
    return { used = 0, fresh = true, foreign = last ~= false }
  end
  local newest, total = struct.unpack(LAYOUT, last)
  local state = { key = key, length = redis.call('LLEN', key), newest = newest, total = total }
  local first = search(key, 1, state.length, function(time)
    return age(now, time) < policy.periodMs
  end)
  state.gone = first - 1
  local _, before = entry(key, state.gone)
  state.before, state.used = before, since(total, before)
  return state
end

function slidingLog.available(state, policy)
  return policy.limit - state.used
end

function slidingLog.waitMs(state, policy, now, cost)
  local target = state.used + cost - policy.limit
  local index = search(state.key, state.gone + 1, state.length, function(_, total)
    return since(total, state.before) >= target
  end)
  return policy.periodMs - age(now, (entry(state.key, index)))
end

function slidingLog.resetMs(state, policy, now)
  return state.used > 0 and policy.periodMs - age(now, state.newest) or 0
end

function slidingLog.delayMs()
  return 0
end

function slidingLog.charge(key, state, policy, now, cost)
  if state.fresh then
    if state.foreign then redis.call('DEL', key) end
    state.key, state.gone, state.before, state.total = key, 0, 0, 0
    state.newest, state.length = now % TIMES, 1
    redis.call('RPUSH', key, struct.pack(LAYOUT, state.newest, 0))
  end
  -- A clock that was set back must not bring entries out of order.
  if age(now, state.newest) > 0 then state.newest = now % TIMES end
  state.total = (state.total + cost) % TOTALS
  state.used = state.used + cost
  redis.call('RPUSH', key, struct.pack(LAYOUT, state.newest, state.total))
  state.length = state.length + 1
  if state.gone > 0 then
    local trimmed = math.min(state.gone, TRIM)
    redis.call('LTRIM', key, trimmed, -1)
    state.gone, state.length = state.gone - trimmed, state.length - trimmed
  end
  redis.call('PEXPIRE', key, slidingLog.resetMs(state, policy, now))
end

-- Takes units from the newest entries, at most TRIM entries in one call; returns what is still to be given back.
function slidingLog.refund(key, state, policy, now, cost)
  local left = math.min(cost, state.used)
  for _ = 1, TRIM do
    if left == 0 then return 0 end
    local time, total = entry(key, -1)
    local _, earlier = entry(key, -2)
    local spent = since(total, earlier)
    if spent > left then
      redis.call('LSET', key, -1, struct.pack(LAYOUT, time, (total - left) % TOTALS))
      return 0
    end
    redis.call('RPOP', key)
    left = left - spent
  end
  return left
end

algorithms['sliding-log'] = slidingLog
