-- Tells of a record, and changes nothing.
-- KEYS: the record.
-- Reply: {} | {state (see record.lua), since, attempt, fence, ms until the lease ends or the record expires, payload}
-- Cost: O(1)
-- #include record
-- #include clock

if state == 'F' then return {} end
local fence, attempt, since = unpack('>I7I4I6', packed, 3)
if leaseOver then since = leaseEnd end
local leftMs = state == 'C' and leaseEnd - now or call('PTTL', recordKey)
return { state, since, attempt, fence, leftMs, sub(packed, HEADER + 1) }
