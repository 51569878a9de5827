-- Fixed window: the window starts at a subject's first request.
-- State: one integer, what is spent; the key's TTL is the window's end, set in the step that creates it.
-- Twin: packages/core/src/rate-limit/algorithms/fixed-window.ts
local fixedWindow = {}

function fixedWindow.read(key, policy)
  local used = tonumber(redis.pcall('GET', key))
  local leftMs = used and redis.call('PTTL', key)
  if not used or leftMs == 0 then return { used = 0, leftMs = policy.periodMs, fresh = true } end
  -- A lost TTL starts the window anew; a window that was shortened since ends no later than a new one would.
  if leftMs < 0 or leftMs > policy.periodMs then
    return { used = used, leftMs = policy.periodMs, healing = true }
  end
  return { used = used, leftMs = leftMs }
end

function fixedWindow.available(state, policy)
  return policy.limit - state.used
end

function fixedWindow.waitMs(state)
  return state.leftMs
end

function fixedWindow.resetMs(state)
  return state.used > 0 and state.leftMs or 0
end

function fixedWindow.delayMs()
  return 0
end

function fixedWindow.charge(key, state, _, _, cost)
  state.used = state.used + cost
  if state.fresh then
    redis.call('SET', key, state.used, 'PX', state.leftMs)
    return
  end
  redis.call('INCRBY', key, cost)
  if state.healing then redis.call('PEXPIRE', key, state.leftMs) end
end

function fixedWindow.refund(key, state, _, _, cost)
  if state.fresh then return end
  redis.call('DECRBY', key, math.min(cost, state.used))
  if state.healing then redis.call('PEXPIRE', key, state.leftMs) end
end

algorithms['fixed-window'] = fixedWindow
