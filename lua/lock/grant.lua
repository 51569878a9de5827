-- What a lock is on the server, and how it is granted. Each lock is up to three keys of one hash tag:
--   holder  while somebody has it: "<token> <fence> <metadata>", which a release without a script names as a whole;
--           "<token> <fence>@<granted, ms> <metadata>" where the fence is not the moment of the grant in µs.
--           Or it is kept for the next in line: ">" and that one's name. Its TTL is the lease.
--   fence   the last fence granted. It may be lost: the server's clock is a floor, so what comes later is higher.
--   line    see line.lua
-- Twin: packages/core/src/lock/memory-store.ts
local call, sub, format = redis.call, string.sub, string.format
local FENCE_TTL = 172800000 -- 48 hours, in ms

local function isOwn(held, token)
  return held and sub(held, 1, #token + 1) == token .. ' '
end

local function fenceOf(held, token)
  return tonumber(string.match(held, '^%d+', #token + 2))
end

-- Writes the leases of `keys` ({ holder, fence } each) with one fence, and returns it.
local function grant(keys, token, leaseMs, metadata)
  local time = call('TIME')
  local nowUs = time[1] * 1000000 + time[2]
  local fence, text = nowUs, format('%.0f', nowUs)
  for _, key in ipairs(keys) do
    local last = tonumber(call('SET', key[2], text, 'PX', FENCE_TTL, 'GET') or 0)
    if last and last >= fence then fence = last + 1 end
  end
  if fence ~= nowUs then
    text = format('%.0f', fence)
    for _, key in ipairs(keys) do call('SET', key[2], text, 'PX', FENCE_TTL) end
    text = format('%s@%.0f', text, math.floor(nowUs / 1000))
  end
  local lease = token .. ' ' .. text .. ' ' .. metadata
  for _, key in ipairs(keys) do call('SET', key[1], lease, 'PX', leaseMs) end
  return fence
end
