-- What every operation on a record shares: its layout, and what is stored now.
-- A record is one string under one key: a header of fixed width, which only these scripts read, and behind it the
-- response or the tombstone, which only the store's client reads. Numbers are big-endian.
--    1 state       1 byte   C claimed, D completed, T tombstone, U unknown, F free (see below)
--    2 awaited     1 byte   1 while somebody may wait for news of this key: only then a change is published
--    3 fence       7 bytes  the last one granted
--   10 attempt     4 bytes
--   14 since       6 bytes  ms; when the state began
--   20 leaseEnd    6 bytes  ms. A claim whose lease is over is read as unknown since then (see clock.lua). Of U, its
--                           owner's resultTtlMs, for the operator who confirms it; of the others, 0
--   26 owner      22 bytes  token of the claim; dashes when the operator settled it
--   48 identity   65 bytes  digests of the fingerprint (43) and of the caller (22)
-- F is absent to everybody. It stays for one lease so that fences rise even if the server's clock goes back, and so
-- that a claim which its caller has given up cannot take effect after the release that was to undo it.
-- Headers are read and written by pieces, since that is several times faster than as a whole.
-- Twin: packages/core/src/idempotency/memory-store.ts
local spread, call, pcall, pack, unpack = unpack, redis.call, redis.pcall, struct.pack, struct.unpack
local floor, max, sub, format = math.floor, math.max, string.sub, string.format
local HEADER = 112

-- The record, or false; its state.
local function stored(recordKey)
  local packed = pcall('GET', recordKey)
  -- Another program's value is no record. But what may not be read is not absent, and fails here.
  if type(packed) == 'table' and not packed.err:find('WRONGTYPE', 1, true) then call('GET', recordKey) end
  if type(packed) ~= 'string' or #packed < HEADER then return false, 'F' end
  return packed, sub(packed, 1, 1)
end
