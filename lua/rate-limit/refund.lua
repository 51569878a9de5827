-- Gives back up to the cost of what is spent; creates nothing, and leaves nothing below zero.
-- KEYS: one key a policy.
-- ARGV: the policies (see standing.lua), then for each policy the units to give back.
-- Reply: for each policy the units still to be given back by another call (sliding log; else 0).
-- Cost: O(1) a key; with a sliding log O(entries taken back), at most 64 a call.
-- #include standing

local reply = {}
for p, policy in ipairs(policies) do
  local cost = tonumber(ARGV[own + p])
  local state = policy.algorithm.read(KEYS[p], policy, now)
  local spent = policy.algorithm.resetMs(state, policy, now) > 0
  reply[p] = spent and cost > 0 and policy.algorithm.refund(KEYS[p], state, policy, now, cost) or 0
end
return reply
