-- Ends a claim: completed, tombstone, unknown, or free again.
-- KEYS: the record, the index.
-- ARGV: token, or '' for the operator, who settles what is unknown and nothing else; the new state (see record.lua);
--       its ttlMs; payload; the channel for news; 1 if the channel is sharded; the key's name in the index.
-- Reply: 0 (refused), 1 (settled), or 2 (settled, although the lease was over)
-- Cost: as claim.
-- #include record

local token, newState, ttlMs, payload = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local channel, sharded, member = ARGV[5], ARGV[6] == '1', ARGV[7]

local function publish()
  -- A server of before 7.0 has no sharded channels, and its clients listen to plain ones.
  local sent = sharded and pcall('SPUBLISH', channel, newState)
  if type(sent) ~= 'number' then call('PUBLISH', channel, newState) end
end

-- What a claim leaves that was withdrawn before it arrived: should it still arrive, it finds its own token here.
local function withdraw()
  fence, attempt, since, leaseEnd = fence or 0, 0, now, 0
  owner, fingerprint, caller = token, string.rep('-', 43), string.rep('-', 22)
  write('F', '', ttlMs)
end

if token == '' then
  if state ~= 'U' then return 0 end
  owner = string.rep('-', 22)
elseif not state or state == 'F' then
  if newState ~= 'F' then return 0 end
  withdraw()
  return 1
elseif owner ~= token then
  return 0
elseif state == 'D' or state == 'T' then
  return state == newState and 1 or 0 -- the reply was lost and the client has sent it again
end

local late = state == 'U'
if not (late and newState == 'U') then since = now end
leaseEnd = 0
local news = awaited == 1
if newState ~= 'F' then awaited = 0 end -- who waits for a free key goes on waiting if another one gets it
write(newState, payload, ttlMs)
if newState == 'U' then list(member, ttlMs) else call('ZREM', indexKey, member) end
if news then publish() end
return late and 2 or 1
