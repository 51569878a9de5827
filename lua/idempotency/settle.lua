-- Ends claims, each: completed, tombstone, unknown, or free again.
-- KEYS: the records, the index.
-- ARGV: ttlMs of a free record; ttlMs of the others; the length of the index's name as the client knows it, which may
--       have put a prefix before every key; 1 if channels are sharded; and for each record token (22 bytes; dashes for
--       the operator, who settles what is unknown and nothing else), new state (see record.lua) and the key's name in
--       the index as one text, and the payload.
-- Reply: for each record 0 (refused), 1 (settled), or 2 (settled, although the lease was over)
-- Cost: as claim.
-- #include record
-- #include clock
-- #include index

local freeMs, resultMs = ARGV[1], ARGV[2]
local OPERATOR = string.rep('-', 22)
local opened, closed = {}, {}

-- The channel is the name of the record, as the client knows it.
local function publish(recordKey, news)
  local channel = sub(recordKey, #indexKey - ARGV[3] + 1)
  -- A server of before 7.0 has no sharded channels, and its clients listen to plain ones. What was settled counts also
  -- where nobody may publish, as is the default of an ACL.
  local sent = ARGV[4] == '1' and pcall('SPUBLISH', channel, news)
  if type(sent) ~= 'number' then pcall('PUBLISH', channel, news) end
end

-- For how long its owner wanted the result of an unknown outcome to be remembered. Unknown by itself, it lives so long
-- from the end of its lease.
local function ownMs(recordKey, packed, leaseEnd)
  if leaseEnd then return call('PTTL', recordKey) + now - leaseEnd end
  return (unpack('>I6', packed, 20))
end

-- Undefined for a settlement that stands against what is stored: then its reply.
local function settle(recordKey, settlement, payload)
  local token, newState = sub(settlement, 1, 22), sub(settlement, 23, 23)
  local packed, state = stored(recordKey)
  askClock()
  local leaseEnd, late, ttlMs = false, state == 'U', resultMs
  if state == 'C' then leaseEnd, late = leaseOf(packed) end
  if token == OPERATOR then
    if not late then return 0 end
    ttlMs = ownMs(recordKey, packed, leaseEnd)
  elseif state == 'F' then
    if newState ~= 'F' then return 0 end
    -- What a claim leaves that was withdrawn before it arrived: should it still arrive, it finds its own token here.
    local before = packed and sub(packed, 1, 25) or 'F' .. string.rep('\0', 24)
    call('SET', recordKey, before .. token .. string.rep('-', 65), 'PX', freeMs)
    return 1
  elseif sub(packed, 26, 47) ~= token then
    return 0
  elseif state == 'D' or state == 'T' then
    return state == newState and 1 or 0 -- the reply was lost and the client has sent it again
  end

  local since = now
  if late and newState == 'U' then since = leaseEnd or unpack('>I6', packed, 14) end
  local awaited = sub(packed, 2, 2)
  -- Who waits for a free key goes on waiting if another one gets it.
  local flag = newState == 'F' and awaited or '\0'
  local header = newState .. flag .. sub(packed, 3, 13) .. pack('>I6I6', since, newState == 'U' and resultMs or 0) .. token .. sub(packed, 48, 112)
  call('SET', recordKey, header .. payload, 'PX', newState == 'F' and freeMs or ttlMs)
  local moved = newState == 'U' and opened or closed
  moved[#moved + 1] = sub(settlement, 24)
  if awaited == '\1' then publish(recordKey, newState) end
  return late and 2 or 1
end

local replies = {}
for at = 1, #KEYS - 1 do replies[at] = settle(KEYS[at], ARGV[2 * at + 3], ARGV[2 * at + 4]) end
-- In this order: what was unknown for a moment may be completed by now, but never the other way round.
if #opened > 0 then list(opened, tonumber(resultMs)) end
if #closed > 0 then call('ZREM', indexKey, spread(closed)) end
return replies
