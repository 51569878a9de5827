-- Sliding log: exact at every position of the window.
-- State: a list; each entry is the time of an admitted call (5 bytes, ms modulo 2^40) and the running total of costs
-- (3 bytes, modulo 2^24). What a window holds is the difference of two totals, so entries that have left need
-- not be removed to be right; a few are, at each charge. The first entry is the newest one known to have left.
-- Twin: packages/core/src/rate-limit/algorithms/sliding-log.ts
-- #include clock
local TIMES, TOTALS, TRIM, SET_BACK = 1099511627776, 16777216, 64, 4294967296

-- Milliseconds from an entry's time to now: negative when the clock was set back, by up to 49 days; else up to 34 years,
-- since an entry that has left a window of ten years may stay for ten more.
local function age(time)
  return (now - time + SET_BACK) % TIMES - SET_BACK
end

local function entry(key, index)
  return unpack('>I5I3', call('LINDEX', key, index))
end

-- The first index in [low, length) for which `test(time, total)` holds, where it holds from some index on; else length.
local function search(key, low, length, test)
  local probe, step = low, 1
  while probe < length and not test(entry(key, probe)) do
    low = probe + 1
    probe, step = probe + step, step * 2
  end
  local high = min(probe, length)
  while low < high do
    local middle = floor((low + high) / 2)
    if test(entry(key, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return high
end

-- Milliseconds until `units` more than the window now holds room for have left it.
local function untilLeft(key, policy, log, units)
  if units <= 0 then return 0 end
  local index = search(key, log.gone + 1, log.length, function(_, total)
    return (total - log.before) % TOTALS >= units
  end)
  return policy.periodMs - age((entry(key, index)))
end

-- Removes some of the entries that have left the window.
local function trim(key, log)
  if log.gone == 0 then return end
  local trimmed = min(log.gone, TRIM)
  call('LTRIM', key, trimmed, -1)
  log.gone, log.length = log.gone - trimmed, log.length - trimmed
end

algorithms['sliding-log'] = {
  -- State: units in the window, and the log: key, length, newest time, total, `gone` (the newest entry that left) and its total.
  read = function(key, policy, cost)
    local last = pcall('LINDEX', key, -1)
    -- A log that is ahead by more than a window, after the clock was set back, must not lock anyone out until then.
    if type(last) ~= 'string' or #last ~= 8 or age((unpack('>I5I3', last))) < -policy.periodMs then
      return cost <= policy.limit, 0, { key = key, foreign = last, length = 0, newest = now % TIMES, total = 0, gone = 0, before = 0 }
    end
    local newest, total = unpack('>I5I3', last)
    local length = call('LLEN', key)
    local gone = search(key, 1, length, function(time)
      return age(time) < policy.periodMs
    end) - 1
    local _, before = entry(key, gone)
    local log = { key = key, length = length, newest = newest, total = total, gone = gone, before = before }
    local used = (total - before) % TOTALS
    return used + cost <= policy.limit, used, log
  end,

  charge = function(key, policy, cost, used, log)
    -- A clock that was set back must not bring entries out of order.
    if age(log.newest) > 0 then log.newest = now % TIMES end
    log.total = (log.total + cost) % TOTALS
    local added = pack('>I5I3', log.newest, log.total)
    if log.length == 0 then
      if log.foreign then call('DEL', key) end
      call('RPUSH', key, pack('>I5I3', log.newest, 0), added)
      log.length = 2
    else
      call('RPUSH', key, added)
      log.length = log.length + 1
    end
    trim(key, log)
    call('PEXPIRE', key, policy.periodMs - age(log.newest))
    return used + cost, log
  end,

  -- Takes units from the newest entries, at most TRIM entries in one call; returns what is still to be given back.
  refund = function(key, policy, cost, used, log)
    if cost >= used then
      call('UNLINK', key)
      return 0
    end
    local left, popped = cost, 0
    local time, total = entry(key, -1)
    while left > 0 and popped < TRIM do
      local earlierTime, earlier = entry(key, -2)
      local spent = (total - earlier) % TOTALS
      if spent > left then
        call('LSET', key, -1, pack('>I5I3', time, (total - left) % TOTALS))
        left = 0
      else
        call('RPOP', key)
        time, total, left, popped = earlierTime, earlier, left - spent, popped + 1
      end
    end
    trim(key, log)
    call('PEXPIRE', key, policy.periodMs - age(time))
    return left
  end,

  heal = function(key, policy, used, log)
    keepFor(key, used > 0 and policy.periodMs - age(log.newest) or 0)
  end,

  -- units in the window, ms until `cost` fits, until one more unit fits than now, until the window is empty
  tell = function(reply, at, policy, cost, used, log)
    local key = log.key
    reply[at + 1] = used
    reply[at + 2] = cost <= policy.limit and untilLeft(key, policy, log, used + cost - policy.limit) or 0
    reply[at + 3] = untilLeft(key, policy, log, min(used, max(1, used + 1 - policy.limit)))
    reply[at + 4] = used > 0 and policy.periodMs - age(log.newest) or 0
    return at + 4
  end,
}
