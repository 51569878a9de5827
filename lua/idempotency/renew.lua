-- Prolongs a lease that its owner still holds. One that is over stays over: others may have been told so.
-- KEYS: the record, the index.
-- ARGV: token; leaseMs; resultTtlMs; the key's name in the index.
-- Reply: 1 (prolonged) or 0 (lost)
-- Cost: as claim.
-- #include record

local leaseMs, ttlMs = tonumber(ARGV[2]), ARGV[2] + ARGV[3]
if state ~= 'C' or owner ~= ARGV[1] then return 0 end
call('SETRANGE', recordKey, LEASE_END_AT, pack('>I6', now + leaseMs))
call('PEXPIRE', recordKey, format('%.0f', ttlMs))
list(ARGV[4], ttlMs)
return 1
