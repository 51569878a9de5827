-- The only clock: the server's. Asked where the answer depends on it, which that of a completed key does not.
local time = call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local now = floor(nowUs / 1000)

local leaseEnd = state == 'C' and unpack('>I6', packed, 20)
local leaseOver = leaseEnd and now >= leaseEnd
if leaseOver then state = 'U' end
