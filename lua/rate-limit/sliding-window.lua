-- Sliding window: the previous window's count weighs as much as the sliding window still covers of it.
-- State: start of the current window (6 bytes), previous and current count (3 bytes each, 5 when they need
-- more): 12 bytes cost a key no more memory than Redis rounds up to anyway.
-- Twin: packages/core/src/rate-limit/algorithms/sliding-window.ts
local slidingWindow = {}
local SHORT, LONG, SHORT_MAX = '>I6I3I3', '>I6I5I5', 16777215

function slidingWindow.read(key, policy, now)
  local packed = redis.pcall('GET', key)
  local startedAt, previous, current = now, 0, 0
  local size = type(packed) == 'string' and #packed
  if size == 12 then
    startedAt, previous, current = struct.unpack(SHORT, packed)
  elseif size == 16 then
    startedAt, previous, current = struct.unpack(LONG, packed)
  end
  local elapsedMs = now - startedAt
  if elapsedMs < 0 then -- A clock that was set back must not stretch the window.
    startedAt = now
  elseif elapsedMs >= 2 * policy.periodMs then
    startedAt, previous, current = now, 0, 0
  elseif elapsedMs >= policy.periodMs then
    startedAt, previous, current = startedAt + policy.periodMs, current, 0
  end
  return { startedAt = startedAt, previous = previous, current = current }
end

function slidingWindow.available(state, policy, now)
  local coveredMs = policy.periodMs - (now - state.startedAt)
  return policy.limit - state.current - math.ceil(state.previous * coveredMs / policy.periodMs)
end

function slidingWindow.waitMs(state, policy, now, cost)
  local leftMs = policy.periodMs - (now - state.startedAt)
  local room = policy.limit - cost
  if state.current <= room then
    return leftMs - math.floor((room - state.current) * policy.periodMs / state.previous)
  end
  return leftMs + policy.periodMs - math.floor(room * policy.periodMs / state.current)
end

function slidingWindow.resetMs(state, policy, now)
  if state.current > 0 then return state.startedAt + 2 * policy.periodMs - now end
  return state.previous > 0 and state.startedAt + policy.periodMs - now or 0
end

function slidingWindow.delayMs()
  return 0
end

local function store(key, state, policy, now)
  local layout = LONG
  if state.previous <= SHORT_MAX and state.current <= SHORT_MAX then layout = SHORT end
  local packed = struct.pack(layout, state.startedAt, state.previous, state.current)
  redis.call('SET', key, packed, 'PX', slidingWindow.resetMs(state, policy, now))
end

function slidingWindow.charge(key, state, policy, now, cost)
  state.current = state.current + cost
  store(key, state, policy, now)
end

function slidingWindow.refund(key, state, policy, now, cost)
  local fromPrevious = math.max(0, cost - state.current)
  state.current = math.max(0, state.current - cost)
  state.previous = math.max(0, state.previous - fromPrevious)
  if state.current + state.previous > 0 then
    store(key, state, policy, now)
  else
    redis.call('DEL', key)
  end
end

algorithms['sliding-window'] = slidingWindow
