-- What every operation on a record shares: its layout, the clock, reading and writing it.
-- A record is one string under one key: a header of fixed width, which only these scripts read, and behind it the
-- response or the tombstone, which only the store's client reads.
--   state       1 byte   C claimed, D completed, T tombstone, U unknown, F free (see below)
--   awaited     1 byte   1 while somebody may wait for news of this key: only then a change is published
--   fence       7 bytes  the last one granted
--   attempt     4 bytes
--   since       6 bytes  ms; when the state began
--   leaseEnd    6 bytes  ms; C only. A claim whose lease is over is read as unknown since then
--   owner      22 bytes  token of the claim; dashes when the operator settled it
--   fingerprint 43 bytes, caller 22 bytes: digests
-- F is absent to everybody. It stays for one lease so that fences rise even if the server's clock goes back, and so
-- that a claim which its caller has given up cannot take effect after the release that was to undo it.
-- Twin: packages/core/src/idempotency/memory-store.ts
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local floor, max, sub, format = math.floor, math.max, string.sub, string.format
local FORMAT, HEADER = '>c1BI7I4I6I6c22c43c22', 112
-- Where `leaseEnd` is, for SETRANGE.
local LEASE_END_AT = 19

local recordKey, indexKey = KEYS[1], KEYS[2]

local time = call('TIME')
local nowUs = time[1] * 1000000 + time[2]
local now = floor(nowUs / 1000)

local packed = pcall('GET', recordKey)
local state, awaited, fence, attempt, since, leaseEnd, owner, fingerprint, caller
if type(packed) == 'string' and #packed >= HEADER then
  state, awaited, fence, attempt, since, leaseEnd, owner, fingerprint, caller = unpack(FORMAT, packed)
  if state == 'C' and now >= leaseEnd then state, since = 'U', leaseEnd end
end

local function write(newState, payload, ttlMs)
  local header = pack(FORMAT, newState, awaited or 0, fence, attempt, since, leaseEnd, owner, fingerprint, caller)
  call('SET', recordKey, header .. payload, 'PX', format('%.0f', ttlMs))
end

-- The index holds every key that is claimed or unknown, by the moment its record expires: what an operator must be
-- able to find although nobody asks for it any more. Its own TTL gets some slack, so that it is seldom set.
local function list(member, ttlMs)
  call('ZREMRANGEBYSCORE', indexKey, '-inf', format('%.0f', now))
  call('ZADD', indexKey, format('%.0f', now + ttlMs), member)
  if call('PTTL', indexKey) < ttlMs then call('PEXPIRE', indexKey, format('%.0f', 2 * ttlMs)) end
end
