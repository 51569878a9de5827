-- Sliding window: the previous window's count weighs as much as the sliding window still covers of it.
-- State: start of the current window (6 bytes), previous and current count (3 bytes each, 5 when they need
-- more): 12 bytes cost a key no more memory than Redis rounds up to anyway.
-- Twin: packages/core/src/rate-limit/algorithms/sliding-window.ts
-- #include clock
-- #include portion
local function storeSlidingWindow(key, policy, startedAt, previous, current)
  local layout = previous < 16777216 and current < 16777216 and '>I6I3I3' or '>I6I5I5'
  call('SET', key, pack(layout, startedAt, previous, current), 'PX', policy.ttlText)
end

algorithms['sliding-window'] = {
  -- State: start of the current window, previous and current count.
  read = function(key, policy, cost)
    local packed, windowMs = pcall('GET', key), policy.periodMs
    local size = type(packed) == 'string' and #packed
    local startedAt, previous, current = now, 0, 0
    if size == 12 or size == 16 then
      startedAt, previous, current = unpack(size == 12 and '>I6I3I3' or '>I6I5I5', packed)
    end
    local elapsedMs = now - startedAt
    if elapsedMs < 0 then
      startedAt = now
      noteSetBack(key)
    elseif elapsedMs >= 2 * windowMs or (elapsedMs >= windowMs and current == 0) then
      startedAt, previous, current = now, 0, 0
    elseif elapsedMs >= windowMs then
      startedAt, previous, current = startedAt + windowMs, current, 0
    end
    local weighted = 0
    if previous > 0 then weighted = previous - portion(previous, now - startedAt, windowMs) end
    return weighted + current + cost <= policy.limit, startedAt, previous, current
  end,

  charge = function(key, policy, cost, startedAt, previous, current)
    storeSlidingWindow(key, policy, startedAt, previous, current + cost)
    return startedAt, previous, current + cost
  end,

  refund = function(key, policy, cost, startedAt, previous, current)
    local fromPrevious = max(0, cost - current)
    current, previous = max(0, current - cost), max(0, previous - fromPrevious)
    if current + previous == 0 then
      call('DEL', key)
    else
      storeSlidingWindow(key, policy, startedAt, previous, current)
    end
  end,

  heal = function(key, policy, startedAt, previous, current)
    if wasSetBack(key) then storeSlidingWindow(key, policy, startedAt, previous, current) end
    local windows = current > 0 and 2 or previous > 0 and 1
    keepFor(key, windows and startedAt + windows * policy.periodMs - now or 0)
  end,

  -- ms into the current window, previous and current count
  tell = function(reply, at, _, _, startedAt, previous, current)
    reply[at + 1], reply[at + 2], reply[at + 3] = now - startedAt, previous, current
    return at + 3
  end,
}
