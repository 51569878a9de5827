-- Says what would be decided for one subject, and changes nothing.
-- KEYS: one key a policy.
-- ARGV: the policies (see quota.lua), then the cost.
-- Reply: flat; for each key the state (see `tell`), marked where its policy would refuse (see `mark`).
-- Cost: as consume, for each key.
-- #include quota

local reply, at, cost = {}, 0, tonumber(ARGV[own + 1])
for p, policy in ipairs(policies) do
  local admits, a, b, c = policy.algorithm.read(KEYS[p], policy, cost)
  local first = at + 1
  at = policy.algorithm.tell(reply, at, policy, cost, a, b, c)
  if not admits then mark(reply, first) end
end
return reply
