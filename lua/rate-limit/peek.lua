-- Says what would be decided for one subject, and changes nothing.
-- KEYS: one key a policy.
-- ARGV: the policies (see quota.lua), then the cost.
-- Reply: flat; for each key 1 (the policy would admit it) or 0, and the state (see `tell`).
-- Cost: as consume, for each key.
-- #include quota

local reply, at, cost = {}, 0, tonumber(ARGV[own + 1])
for p, policy in ipairs(policies) do
  local admits, a, b, c = policy.algorithm.read(KEYS[p], policy, cost)
  reply[at + 1] = admits and 1 or 0
  at = policy.algorithm.tell(reply, at + 1, policy, cost, a, b, c)
end
return reply
