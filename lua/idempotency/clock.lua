-- The only clock: the server's. Asked once, and only if an answer depends on it, which that of a completed key does not.
local now, nowUs

local function askClock()
  if now then return end
  local time = call('TIME')
  nowUs = time[1] * 1000000 + time[2]
  now = floor(nowUs / 1000)
end

-- When the lease of a claim ends; whether it is over.
local function leaseOf(packed)
  askClock()
  local leaseEnd = unpack('>I6', packed, 20)
  return leaseEnd, now >= leaseEnd
end
