-- Gives a lock back and claims it for another caller of the same process, in one step.
-- KEYS: the holder, the fence, the line.
-- ARGV: token of the lease that ends; the claim: token, leaseMs, metadata, name in lines, when it came (µs) or
--       nothing; 1 if it comes before the line, 0 if the line goes first.
-- Reply: {1 if the lease still held, else 0; as acquire: the fence | ms until the lock may be free, when it came (µs)}
-- Cost: as acquire.
-- #include grant
-- #include claim

local holderKey, fenceKey, lineKey = KEYS[1], KEYS[2], KEYS[3]
local token, leaseMs, metadata, waiter, since, keepsTurn = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local held = call('GET', holderKey)
if not isOwn(held, ARGV[1]) then
  local reply = claim(holderKey, fenceKey, lineKey, token, leaseMs, metadata, waiter, since)
  -- Where the claim holds it already, the reply was lost, and this is the same step once more.
  local released = isOwn(held, token) and 1 or 0
  if type(reply) == 'number' then return { released, reply } end
  return { released, reply[1], reply[2] }
end

local first, came
if keepsTurn == '0' then
  -- To the end, unless it says where it stood: its callers came before those behind it.
  call('ZREM', lineKey, waiter, '!' .. waiter)
  if since ~= '' then
    readClock()
    came = stand(lineKey, waiter, since)
  end
  first = nextInLine(lineKey)
end
if not first or first == waiter then return { 1, grant(holderKey, fenceKey, flagOf(lineKey), token, leaseMs, metadata) } end
came = came or stand(lineKey, waiter, nil)
keepFor(holderKey, first)
return { 1, TURN_MS, came }
