-- Decides one or many subjects under one policy, each subject for itself.
-- KEYS: one key a subject. Only a server that is no cluster gets more than one a call.
-- ARGV: the policy (see quota.lua), then one cost for all subjects or one for each.
-- Reply: flat; for each key the state after the decision (see `tell`), marked where it is a refusal (see `mark`).
-- Cost: O(1) a key; with a sliding log O(log n) when many entries left the window since the last call.
-- #per-algorithm
-- #include quota

local policy = policies[1]
local algorithm = policy.algorithm
local read, charge, heal, tell = algorithm.read, algorithm.charge, algorithm.heal, algorithm.tell
local take = algorithm.take
    or function()
      return nil
    end
local reply, at, one = {}, 0, #ARGV == own + 1
for i = 1, #KEYS do
  costText = ARGV[own + (one and 1 or i)]
  local key, cost = KEYS[i], tonumber(costText)
  local admits, a, b, c = take(key, policy, cost)
  if admits == nil then
    admits, a, b, c = read(key, policy, cost)
    if admits then
      a, b, c = charge(key, policy, cost, a, b, c)
    else
      heal(key, policy, a, b, c)
    end
  end
  local first = at + 1
  at = tell(reply, at, policy, cost, a, b, c)
  if not admits then mark(reply, first) end
end
return reply
