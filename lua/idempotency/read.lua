-- Tells of a record, and changes nothing.
-- KEYS: the record.
-- Reply: {} | {state (see record.lua), since, attempt, fence, ms until the lease ends or the record expires, payload}
-- Cost: O(1)
-- #include record
-- #include clock

local recordKey = KEYS[1]
local packed, state = stored(recordKey)
if state == 'F' then return {} end
local fence, attempt, since = unpack('>I7I4I6', packed, 3)
local leftMs
if state == 'C' then
  local leaseEnd, leaseOver = leaseOf(packed)
  leftMs = leaseEnd - now
  if leaseOver then state, since, leftMs = 'U', leaseEnd, call('PTTL', recordKey) end
else
  leftMs = call('PTTL', recordKey)
end
return { state, since, attempt, fence, leftMs, sub(packed, HEADER + 1) }
