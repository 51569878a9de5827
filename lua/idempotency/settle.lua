-- Ends a claim: completed, tombstone, unknown, or free again.
-- KEYS: the record, the index.
-- ARGV: token, or '' for the operator, who settles what is unknown and nothing else; the new state (see record.lua);
--       its ttlMs; payload; the channel for news; 1 if the channel is sharded; the key's name in the index.
-- Reply: 0 (refused), 1 (settled), or 2 (settled, although the lease was over)
-- Cost: as claim.
-- #include record
-- #include clock
-- #include index

local token, newState, ttlText, payload = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function publish(channel, sharded)
  -- A server of before 7.0 has no sharded channels, and its clients listen to plain ones. What was settled counts also
  -- where nobody may publish, as is the default of an ACL.
  local sent = sharded and pcall('SPUBLISH', channel, newState)
  if type(sent) ~= 'number' then pcall('PUBLISH', channel, newState) end
end

if token == '' then
  if state ~= 'U' then return 0 end
  token = string.rep('-', 22)
elseif state == 'F' then
  if newState ~= 'F' then return 0 end
  -- What a claim leaves that was withdrawn before it arrived: should it still arrive, it finds its own token here.
  local before = packed and sub(packed, 1, 25) or 'F' .. string.rep('\0', 24)
  call('SET', recordKey, before .. token .. string.rep('-', 65), 'PX', ttlText)
  return 1
elseif sub(packed, 26, 47) ~= token then
  return 0
elseif state == 'D' or state == 'T' then
  return state == newState and 1 or 0 -- the reply was lost and the client has sent it again
end

local late = state == 'U'
local since = now
if late and newState == 'U' then since = leaseOver and leaseEnd or unpack('>I6', packed, 14) end
local awaited = sub(packed, 2, 2)
-- Who waits for a free key goes on waiting if another one gets it.
local flag = newState == 'F' and awaited or '\0'
local header = newState .. flag .. sub(packed, 3, 13) .. pack('>I6I6', since, 0) .. token .. sub(packed, 48, 112)
call('SET', recordKey, header .. payload, 'PX', ttlText)
if newState == 'U' then list(ARGV[7], tonumber(ttlText)) else call('ZREM', indexKey, ARGV[7]) end
if awaited == '\1' then publish(ARGV[5], ARGV[6] == '1') end
return late and 2 or 1
