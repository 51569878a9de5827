-- Gives locks back as far as the token holds them, and hands each on to the next in its line.
-- KEYS: of each lock the holder, the line.
-- ARGV: token.
-- Reply: 1 if the token held all of them, else 0
-- Cost: O(1) if nobody waits, else O(log n) in the waiters, for each lock and for each dead waiter at the head.
-- #include grant
-- #include line

local token = ARGV[1]

local held = 1
for i = 1, #KEYS, 2 do
  if isOwn(call('GET', KEYS[i]), token) then handOn(KEYS[i], KEYS[i + 1]) else held = 0 end
end
return held
