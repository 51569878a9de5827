-- Tells who holds a lock, and changes nothing.
-- KEYS: the holder, the line.
-- Reply: {} (nobody) | {fence, metadata, ms held, ms left, waiters who are alive}
-- Cost: O(log n) in the waiters.
-- #include layout
-- #include owner
-- #include line

local holderKey, lineKey = KEYS[1], KEYS[2]

local held = call('GET', holderKey)
if not held or sub(held, 1, 1) == '>' then return {} end
local fence, granted, metadata = parts(held)
readClock()
local heldMs = nowMs - (granted or math.floor(fence / 1000))
local waiters = call('ZCOUNT', lineKey, '-inf', -nowMs)
return { fence, metadata, math.max(heldMs, 0), call('PTTL', holderKey), waiters }
