-- Who waits for a lock, first come first served: a sorted set with two members a waiter, under a TTL as a whole.
--   name      score: when it came, µs
--   ! name    score: until when it counts as alive, ms, negative. Who does not ask for so long is passed over.
-- A name is what wakes its waiter: the letter p, or s for a sharded channel, and the channel.
local pcall = redis.pcall
local ALIVE_MS, LINE_TTL, TURN_MS = 10000, 30000, 500

local nowMs, nowUs

local function readClock()
  local time = call('TIME')
  nowUs = time[1] * 1000000 + time[2]
  nowMs = math.floor(nowUs / 1000)
end

-- Stands where it stood, if it does or did; returns since when it is there. Of two moments the earlier one stays, and
-- of two ends of a life the later.
local function stand(lineKey, waiter, since)
  local came = math.min(tonumber(since) or nowUs, nowUs)
  call('ZADD', lineKey, 'LT', format('%.0f', came), waiter, -nowMs - ALIVE_MS, '!' .. waiter)
  call('PEXPIRE', lineKey, LINE_TTL)
  return tonumber(call('ZSCORE', lineKey, waiter))
end

-- Takes the first who is alive out of the line.
local function nextInLine(lineKey)
  while true do
    local first = call('ZRANGEBYSCORE', lineKey, 0, '+inf', 'LIMIT', 0, 1)[1]
    if not first then return false end
    if not nowMs then readClock() end
    local aliveUntil = call('ZSCORE', lineKey, '!' .. first)
    call('ZREM', lineKey, first, '!' .. first)
    if aliveUntil and -aliveUntil >= nowMs then return first end
  end
end

-- See the holder in layout.lua.
local function flagOf(lineKey)
  return call('EXISTS', lineKey) == 1 and '+' or '='
end

-- Keeps the lock for a waiter, and wakes that one alone. What it is sent is a hint, and no lease: only its own
-- request tells it from when a lease counts. One that may not be sent changes nothing of what is kept.
local function keepFor(holderKey, waiter)
  call('SET', holderKey, '>' .. waiter, 'PX', TURN_MS)
  local channel = sub(waiter, 2)
  -- A server of before 7.0 has no sharded channels, and its clients listen to plain ones.
  local sent = sub(waiter, 1, 1) == 's' and pcall('SPUBLISH', channel, holderKey)
  if type(sent) ~= 'number' then pcall('PUBLISH', channel, holderKey) end
end

-- The lock is free: for the next in line, or for anybody.
local function handOn(holderKey, lineKey)
  local waiter = nextInLine(lineKey)
  if waiter then keepFor(holderKey, waiter) else call('DEL', holderKey) end
end
