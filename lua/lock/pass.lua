-- Gives a lock back and claims it for another caller of the same process, in one step.
-- KEYS: the holder, the fence, the line.
-- ARGV: token of the lease that ends; the claim: token, leaseMs, metadata, name in lines, when it came (µs) or
--       nothing; 1 if it comes before the line, 0 if the line goes first.
-- Reply: {1 if the lease still held, else 0; as acquire: the fence | ms until the lock may be free, when it came (µs)}
-- Cost: as acquire.
-- #include layout
-- #include claim

local holderKey, fenceKey, lineKey = KEYS[1], KEYS[2], KEYS[3]
local token, leaseMs, metadata, waiter, since, keepsTurn = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

-- The line goes first. The process stands at its end, unless it says where it stood: its callers came before those
-- behind it.
local function standBehind()
  call('ZREM', lineKey, waiter, '!' .. waiter)
  local came
  if since ~= '' then
    readClock()
    came = stand(lineKey, waiter, since)
  end
  local first = nextInLine(lineKey)
  if not first or first == waiter then return nil end
  came = came or stand(lineKey, waiter, nil)
  keepFor(holderKey, first)
  return { TURN_MS, came }
end

local held = call('GET', holderKey)
local reply
local released = 1
if not isOwn(held, ARGV[1]) then
  -- Where the claim holds it already, the reply was lost, and this is the same step once more.
  if not isOwn(held, token) then released = 0 end
  reply = refusal(holderKey, lineKey, token, leaseMs, waiter, since)
elseif keepsTurn == '0' then
  reply = standBehind()
end
if type(reply) == 'number' then return { released, reply } end
if reply then return { released, reply[1], reply[2] } end

local flag = flagOf(lineKey)
-- #include grant
return { released, fence }
