-- What a lock is on the server, and how one is granted. Each is up to three keys of one hash tag:
--   holder  while somebody has it: "=<token> <fence> <metadata>", which a release without a script names as a whole;
--           "<token> <fence>@<granted, ms> <metadata>" where the fence is not the moment of the grant in µs, and with
--           + for = as soon as somebody stands in line: only then a release has more to do than to delete it.
--           Or it is kept for the next in line: ">" and that one's name. Its TTL is the lease.
--   fence   the last fence granted. It may be lost: the server's clock is a floor, so what comes later is higher.
--   line    see line.lua
-- Numbers become text as strings where that is possible, which is several times faster than to format them.
-- Twin: packages/core/src/lock/memory-store.ts
local call, sub, format = redis.call, string.sub, string.format
local FENCE_TTL = '172800000' -- 48 hours, in ms

-- `flag` is = or +. Returns the fence.
local function grant(holderKey, fenceKey, flag, token, leaseMs, metadata)
  local time = call('TIME')
  local fence, text = time[1] * 1000000 + time[2], time[1] .. sub('00000' .. time[2], -6)
  local last = tonumber(call('SET', fenceKey, text, 'PX', FENCE_TTL, 'GET') or 0)
  if last and last >= fence then
    text = format('%.0f@%.0f', last + 1, math.floor(fence / 1000))
    fence = last + 1
    call('SET', fenceKey, format('%.0f', fence), 'PX', FENCE_TTL)
  end
  call('SET', holderKey, flag .. token .. ' ' .. text .. ' ' .. metadata, 'PX', leaseMs)
  return fence
end
