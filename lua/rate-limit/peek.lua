-- Says what consume would decide for one subject, and changes nothing.
-- KEYS: one key a policy.
-- ARGV: the policies (see standing.lua), then the cost.
-- Reply: flat, six integers a key (see `report`).
-- Cost: as consume.
-- #include standing

local cost = tonumber(ARGV[own + 1])
local states, allowed, all = {}, {}, true
for p, policy in ipairs(policies) do
  states[p] = policy.algorithm.read(KEYS[p], policy, now)
  allowed[p] = fits(states[p], policy, cost)
  all = all and allowed[p]
end
local reply = {}
for p, policy in ipairs(policies) do
  local delayMs = all and policy.algorithm.delayMs(states[p], policy, now) or 0
  report(reply, states[p], policy, allowed[p], cost, delayMs)
end
return reply
