-- The index holds every key that is claimed or unknown, by the moment its record expires: what an operator must be
-- able to find although nobody asks for it any more. What expired there is dropped when its own TTL is set, which
-- gets some slack, so that both are seldom done.
local indexKey = KEYS[#KEYS]

local function list(members, ttlMs)
  local scored, expires = {}, format('%.0f', now + ttlMs)
  for at, member in ipairs(members) do scored[2 * at - 1], scored[2 * at] = expires, member end
  call('ZADD', indexKey, spread(scored))
  local leftMs = call('PTTL', indexKey)
  if leftMs < ttlMs then
    if leftMs >= 0 then call('ZREMRANGEBYSCORE', indexKey, '-inf', now) end
    call('PEXPIRE', indexKey, 2 * ttlMs)
  end
end
