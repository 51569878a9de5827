-- What every operation on quotas shares: the clock, the policies from ARGV, and the report of a state.
-- ARGV[1] = number of policies; then four for each: algorithm, limit, amount, periodMs (windows: `limit` every
-- window; buckets: the rate in lowest terms). The operation's own arguments follow.
local algorithms = {}

-- #algorithms
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local policies = {}
for p = 1, tonumber(ARGV[1]) do
  policies[p] = {
    algorithm = algorithms[ARGV[4 * p - 2]],
    limit = tonumber(ARGV[4 * p - 1]),
    amount = tonumber(ARGV[4 * p]),
    periodMs = tonumber(ARGV[4 * p + 1]),
  }
end
-- Where the operation's own arguments start, less one.
local own = 4 * #policies + 1

-- A cost above the limit never fits, whatever an algorithm has room for.
local function fits(state, policy, cost)
  return cost <= policy.limit and cost <= policy.algorithm.available(state, policy, now)
end

-- Appends allowed, remaining, retryAfterMs (-1: never), resetMs, nextMs, delayMs.
local function report(reply, state, policy, allowed, cost, delayMs)
  local algorithm, limit, at = policy.algorithm, policy.limit, #reply
  local remaining = math.max(0, math.min(limit, algorithm.available(state, policy, now)))
  local retryAfterMs = 0
  if not allowed then
    retryAfterMs = cost > limit and -1 or algorithm.waitMs(state, policy, now, cost)
  end
  reply[at + 1] = allowed and 1 or 0
  reply[at + 2] = remaining
  reply[at + 3] = retryAfterMs
  reply[at + 4] = algorithm.resetMs(state, policy, now)
  reply[at + 5] = remaining < limit and algorithm.waitMs(state, policy, now, remaining + 1) or 0
  reply[at + 6] = delayMs
end
