-- Takes a lock, or says why not; then whoever has a name stands in line.
-- KEYS: the holder, the fence, the line.
-- ARGV: token; leaseMs; metadata; and of one who will wait: its name in lines; when it came (µs), or nothing.
-- Reply: the fence | {ms until the lock may be free, when the waiter came (µs), or 0}
-- Cost: O(1) for a lock that is free; else O(log n) in the waiters, and O(log n) for each dead one at the head.
-- #include layout

local holderKey, fenceKey, lineKey = KEYS[1], KEYS[2], KEYS[3]
local token, leaseMs, metadata = ARGV[1], ARGV[2], ARGV[3]

local flag = '='
if call('EXISTS', holderKey, lineKey) ~= 0 then
-- #include claim
  local reply = refusal(holderKey, lineKey, token, leaseMs, ARGV[4], ARGV[5])
  if reply then return reply end
  flag = flagOf(lineKey)
end
-- #include grant
return fence
