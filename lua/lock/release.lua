-- Gives locks back as far as the token holds them, and hands each on to the next in its line.
-- KEYS: of each lock the holder, the line.
-- ARGV: token.
-- Reply: 1 if the token held all of them, else 0
-- Cost: O(1) if nobody waits, else O(log n) in the waiters, for each lock and for each dead waiter at the head.
-- #include layout

local token = ARGV[1]

if #KEYS == 2 then
  local held = call('GET', KEYS[1])
  if not held then return 0 end
  if sub(held, 1, #token + 2) == '=' .. token .. ' ' then return call('DEL', KEYS[1]) end
end

-- #include owner
-- #include line

local held = 1
for i = 1, #KEYS, 2 do
  if isOwn(call('GET', KEYS[i]), token) then handOn(KEYS[i], KEYS[i + 1]) else held = 0 end
end
return held
