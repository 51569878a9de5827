-- The only clock: the server's, in whole milliseconds. Asked once a call, by the algorithms that need it.
local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
