-- The only clock: the server's.
local time = call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local now = floor(nowUs / 1000)
