-- Leaves the line of a lock. A turn that was kept for the waiter goes to the next.
-- KEYS: the holder, the line.
-- ARGV: the waiter's name in lines.
-- Reply: 1 if a turn went on, else 0
-- Cost: O(log n) in the waiters, and O(log n) for each dead one at the head.
-- #include layout
-- #include line

local holderKey, lineKey, waiter = KEYS[1], KEYS[2], ARGV[1]

call('ZREM', lineKey, waiter, '!' .. waiter)
if call('GET', holderKey) ~= '>' .. waiter then return 0 end
handOn(holderKey, lineKey)
return 1
