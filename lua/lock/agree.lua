-- Gives leases that the token holds the fence that was agreed with other masters. What the server itself remembers as
-- the last fence only rises, so later grants are above both.
-- KEYS: of each lock the holder, the fence.
-- ARGV: token; the fence.
-- Reply: 1 if the token holds all, and they have this fence now; else 0
-- Cost: O(1) for each lock.
-- #include grant

local token, text = ARGV[1], ARGV[2]
local fence = tonumber(text)

local held = {}
for i = 1, #KEYS, 2 do
  held[i] = call('GET', KEYS[i])
  if not isOwn(held[i], token) then return 0 end
end
for i = 1, #KEYS, 2 do
  local own, granted, metadata = string.match(held[i], '^(%d+)@?(%d*) (.*)$', #token + 2)
  if tonumber(own) ~= fence then
    granted = tonumber(granted) or math.floor(own / 1000)
    call('SET', KEYS[i], format('%s %s@%.0f %s', token, text, granted, metadata), 'KEEPTTL')
    local last = tonumber(call('GET', KEYS[i + 1]) or 0)
    if not last or last < fence then call('SET', KEYS[i + 1], text, 'PX', FENCE_TTL) end
  end
end
return 1
