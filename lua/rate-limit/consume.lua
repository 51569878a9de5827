-- Decides one or many subjects, each for itself: charges every policy if all admit the cost, or none.
-- KEYS: subject by subject, one key a policy. Only a server that is no cluster gets more than one subject a call.
-- ARGV: the policies (see standing.lua), then one cost a subject.
-- Reply: flat, six integers a key (see `report`).
-- Cost: O(1) a key; with a sliding log O(log n) when many entries left the window since the last call.
-- #per-algorithm
-- #include standing

-- A refusal writes nothing, except to a key whose TTL was lost or outlasts what it remembers.
local function heal(key, state, policy)
  local resetMs = policy.algorithm.resetMs(state, policy, now)
  if resetMs <= 0 then return end
  local ttlMs = redis.call('PTTL', key)
  if ttlMs == -1 or ttlMs > resetMs then redis.call('PEXPIRE', key, resetMs) end
end

local reply = {}
for s = 0, #KEYS / #policies - 1 do
  local cost = tonumber(ARGV[own + 1 + s])
  local states, allowed, all = {}, {}, true
  for p, policy in ipairs(policies) do
    states[p] = policy.algorithm.read(KEYS[s * #policies + p], policy, now)
    allowed[p] = fits(states[p], policy, cost)
    all = all and allowed[p]
  end
  for p, policy in ipairs(policies) do
    local key, state, delayMs = KEYS[s * #policies + p], states[p], 0
    if all then
      delayMs = policy.algorithm.delayMs(state, policy, now)
      policy.algorithm.charge(key, state, policy, now, cost)
    else
      heal(key, state, policy)
    end
    report(reply, state, policy, allowed[p], cost, delayMs)
  end
end
return reply
