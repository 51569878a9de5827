-- The arithmetic of both buckets: units spent, and since when the rate gives them back. Integers throughout: the
-- anchor moves in whole periods only, so nothing is ever rounded.
-- State: anchor in ms (6 bytes), units spent since (4 bytes).
-- Twin: packages/core/src/rate-limit/algorithms/bucket.ts
local LAYOUT, LONGEST_TTL_MS = '>I6I4', 1e15

-- What is missing now, in units of 1/periodMs of a token.
local function missing(state, policy, now)
  return state.spent * policy.periodMs - (now - state.anchor) * policy.amount
end

local function store(key, state, policy, now)
  local ttlMs = math.ceil(missing(state, policy, now) / policy.amount)
  local packed = struct.pack(LAYOUT, state.anchor, state.spent)
  redis.call('SET', key, packed, 'PX', math.min(ttlMs, LONGEST_TTL_MS))
end

-- `room(policy)`: units that fit into an untouched bucket. `delayMs(state, policy, now)`: until a call's turn.
local function bucket(room, delayMs)
  local self = { delayMs = delayMs }

  function self.read(key, policy, now)
    local packed = redis.pcall('GET', key)
    if type(packed) ~= 'string' or #packed ~= 10 then return { anchor = now, spent = 0 } end
    local anchor, spent = struct.unpack(LAYOUT, packed)
    local state = { anchor = anchor, spent = spent }
    if anchor > now then
      state.anchor = now -- A clock that was set back must not lock anyone out until it catches up.
    elseif missing(state, policy, now) <= 0 then
      state.anchor, state.spent = now, 0
    end
    return state
  end

  function self.available(state, policy, now)
    return math.floor((room(policy) * policy.periodMs - missing(state, policy, now)) / policy.periodMs)
  end

  function self.waitMs(state, policy, now, cost)
    local excess = missing(state, policy, now) + (cost - room(policy)) * policy.periodMs
    return math.ceil(excess / policy.amount)
  end

  function self.resetMs(state, policy, now)
    return math.ceil(missing(state, policy, now) / policy.amount)
  end

  function self.charge(key, state, policy, now, cost)
    local periods = math.floor((now - state.anchor) / policy.periodMs)
    state.anchor = state.anchor + periods * policy.periodMs
    state.spent = state.spent + cost - periods * policy.amount
    store(key, state, policy, now)
  end

  function self.refund(key, state, policy, now, cost)
    state.spent = state.spent - cost
    if missing(state, policy, now) > 0 then
      store(key, state, policy, now)
    else
      redis.call('DEL', key)
    end
  end

  return self
end
