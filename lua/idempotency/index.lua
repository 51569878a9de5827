-- The index holds every key that is claimed or unknown, by the moment its record expires: what an operator must be
-- able to find although nobody asks for it any more. What expired there is dropped when its own TTL is set, which
-- gets some slack, so that both are seldom done.
local indexKey = KEYS[2]

local function list(member, ttlMs)
  call('ZADD', indexKey, now + ttlMs, member)
  local leftMs = call('PTTL', indexKey)
  if leftMs < ttlMs then
    if leftMs >= 0 then call('ZREMRANGEBYSCORE', indexKey, '-inf', now) end
    call('PEXPIRE', indexKey, 2 * ttlMs)
  end
end
