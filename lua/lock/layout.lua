-- What a lock is on the server: up to three keys of one hash tag.
--   holder  while somebody has it: "=<token> <fence> <metadata>", which a release without a script names as a whole;
--           "<token> <fence>@<granted, ms> <metadata>" where the fence is not the moment of the grant in µs, and with
--           + for = as soon as somebody stands in line: only then a release has more to do than to delete it.
--           Or it is kept for the next in line: ">" and that one's name. Its TTL is the lease.
--   fence   the last fence granted. It may be lost: the server's clock is a floor, so what comes later is higher.
--   line    see line.lua
-- Twin: packages/core/src/lock/memory-store.ts
local call, sub, format = redis.call, string.sub, string.format
local FENCE_TTL = '172800000' -- 48 hours, in ms
local HIGHEST = 9007199254740990 -- what is above was no fence: it could not be raised
