-- The only clock: the server's, in whole milliseconds. Asked once a call, by the algorithms that need it.
local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- A clock that was set back must not lock anyone out until it catches up: what is ahead of it counts from now on. A
-- refusal stores that, or each one would begin the wait anew.
local setBack

local function noteSetBack(key)
  setBack = setBack or {}
  setBack[key] = true
end

local function wasSetBack(key)
  return setBack and setBack[key]
end
