-- Prolongs a lease that its owner still holds. One that is over stays over: others may have been told so.
-- KEYS: the record, the index.
-- ARGV: token; leaseMs; ttlMs (of the record: lease and result); the key's name in the index.
-- Reply: 1 (prolonged) or 0 (lost)
-- Cost: as claim.
-- #include record
-- #include clock
-- #include index

local recordKey = KEYS[1]
local packed, state = stored(recordKey)
if state ~= 'C' or sub(packed, 26, 47) ~= ARGV[1] then return 0 end
local _, leaseOver = leaseOf(packed)
if leaseOver then return 0 end
call('SETRANGE', recordKey, 19, pack('>I6', now + ARGV[2]))
call('PEXPIRE', recordKey, ARGV[3])
list({ ARGV[4] }, tonumber(ARGV[3]))
return 1
