-- Gives back up to the cost of what is spent; creates nothing, and leaves nothing below zero.
-- KEYS: one key a policy.
-- ARGV: the policies (see quota.lua), then for each policy the units to give back.
-- Reply: for each policy the units still to be given back by another call (sliding log; else 0).
-- Cost: O(1) a key; with a sliding log O(entries taken back), at most 64 a call.
-- #include quota

local reply = {}
for p, policy in ipairs(policies) do
  local key, cost, left = KEYS[p], tonumber(ARGV[own + p]), 0
  if cost > 0 and call('EXISTS', key) == 1 then
    local _, a, b, c = policy.algorithm.read(key, policy, cost)
    left = policy.algorithm.refund(key, policy, cost, a, b, c)
  end
  reply[p] = left or 0
end
return reply
