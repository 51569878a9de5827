-- What every operation on quotas shares: the algorithms, and the policies from ARGV.
-- ARGV[1] = number of policies; then five for each: algorithm, limit, amount, periodMs (windows: `limit` every
-- window; buckets: the rate in lowest terms), and the TTL in ms that a change may give its key. The operation's own arguments follow.
--
-- An algorithm is a table of functions over its state, which is up to three values:
--   read(key, policy, cost)            whether the policy admits the cost, and the state now; writes nothing
--   take(key, policy, cost)            optional: the verdict and the state after it in fewer commands; nil: not this time
--   charge(key, policy, cost, …state)  spends it and returns the new state
--   refund(key, policy, cost, …state)  gives back up to the cost; may return what is still to be given back
--   heal(key, policy, …state)          after a refusal: sets a TTL that was lost, or no longer suits the policy
--   tell(reply, at, policy, cost, …state)  appends the state to the reply, with times from now; returns the new end
-- A local is found faster than a field of a global.
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local floor, min, max, tonumber = math.floor, math.min, math.max, tonumber
local algorithms = {}
-- What a refusal leaves lives as long as it counts: sets a TTL that was lost, or was right for a shorter window. (A
-- few milliseconds less are no reason: a server reads TIME and TTLs at different moments.)
local function keepFor(key, ms)
  local leftMs = call('PTTL', key)
  if leftMs == -1 or (leftMs >= 0 and leftMs < ms - 100) then call('PEXPIRE', key, min(1e15, ms)) end
end
-- The cost being decided as it came in ARGV: commands take text, and writing a number out is slow.
local costText

-- #algorithms
local policies = {}
for p = 1, tonumber(ARGV[1]) do
  policies[p] = {
    algorithm = algorithms[ARGV[5 * p - 3]],
    limit = tonumber(ARGV[5 * p - 2]),
    amount = tonumber(ARGV[5 * p - 1]),
    periodMs = tonumber(ARGV[5 * p]),
    ttlText = ARGV[5 * p + 1],
  }
end
-- A policy's part of a reply is its state, whose first number is never negative: a refusal counts it down from -1.
-- A number more for the verdict would cost every decision its writing and reading.
local function mark(reply, first)
  reply[first] = -1 - reply[first]
end

-- Where the operation's own arguments start, less one.
local own = 5 * #policies + 1
