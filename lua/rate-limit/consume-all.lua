-- Decides one or many subjects under several policies: charges all policies of a subject if all admit the cost, or none.
-- KEYS: subject by subject, one key a policy. Only a server that is no cluster gets more than one subject a call.
-- ARGV: the policies (see quota.lua), then one cost for all subjects or one for each.
-- Reply: flat; for each key the state after the decision (see `tell`), marked where its policy refuses (see `mark`).
-- Cost: as consume, for each key.
-- #include quota

local reply, at, one = {}, 0, #ARGV == own + 1
local count = #policies
for s = 0, #KEYS / count - 1 do
  costText = ARGV[own + (one and 1 or s + 1)]
  local cost = tonumber(costText)
  local states, all = {}, true
  for p = 1, count do
    local policy = policies[p]
    local admits, a, b, c = policy.algorithm.read(KEYS[s * count + p], policy, cost)
    states[p], all = { admits, a, b, c }, all and admits
  end
  for p = 1, count do
    local policy, key = policies[p], KEYS[s * count + p]
    local state = states[p]
    local admits, a, b, c = state[1], state[2], state[3], state[4]
    if all then
      a, b, c = policy.algorithm.charge(key, policy, cost, a, b, c)
    else
      policy.algorithm.heal(key, policy, a, b, c)
    end
    local first = at + 1
    at = policy.algorithm.tell(reply, at, policy, cost, a, b, c)
    if not admits then mark(reply, first) end
  end
end
return reply
