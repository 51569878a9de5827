-- Gives leases that the token holds the fence that was agreed with other masters. What the server itself remembers as
-- the last fence only rises, so later grants are above both.
-- KEYS: of each lock the holder, the fence.
-- ARGV: token; the fence.
-- Reply: 1 if the token holds all, and they have this fence now; else 0
-- Cost: O(1) for each lock.
-- #include layout
-- #include owner

local token, text = ARGV[1], ARGV[2]
local fence = tonumber(text)

local held = {}
for i = 1, #KEYS, 2 do
  held[i] = call('GET', KEYS[i])
  if not isOwn(held[i], token) then return 0 end
end
for i = 1, #KEYS, 2 do
  local own, granted, metadata = parts(held[i])
  if own ~= fence then
    local when = format('@%.0f ', granted or math.floor(own / 1000))
    call('SET', KEYS[i], sub(held[i], 1, #token + 2) .. text .. when .. metadata, 'KEEPTTL')
    local last = tonumber(call('GET', KEYS[i + 1]) or 0)
    if not last or last < fence then call('SET', KEYS[i + 1], text, 'PX', FENCE_TTL) end
  end
end
return 1
