-- Claims keys, each for one run of its work, or says why not and brings what is stored.
-- KEYS: the records, the index.
-- ARGV: leaseMs; ttlMs (of a record: lease and result); and for each record, as one text: token (22 bytes); fingerprint
--       and caller (65, digests); r if an unknown outcome may be run again, else -; w if the caller will wait for news,
--       else -; the key's name in the index.
-- Reply: for each record, the payload of a completed one | {fence, attempt} (started) | {'tombstone', payload} |
--        {'in-progress', ms since the claim, ms of lease left} | {'unknown', since} | {'mismatch'} | {'stranger'} |
--        {'withdrawn'}
-- Cost: O(1) a record, and O(log n) in the keys that are claimed or unknown.
-- #include record
-- #include clock
-- #include index

local leaseMs, ttlMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local opened = {}

local function start(recordKey, request, awaited, fence, attempt)
  local numbers = pack('>I7I4I6I6', fence, attempt, now, now + leaseMs)
  call('SET', recordKey, 'C' .. awaited .. numbers .. sub(request, 1, 87), 'PX', ARGV[2])
  opened[#opened + 1] = sub(request, 90)
  return { fence, attempt }
end

-- Why not; nil when it may start.
local function refuse(recordKey, request, packed, state)
  if state == 'C' then
    local leaseEnd, leaseOver = leaseOf(packed)
    if not leaseOver then
      if sub(request, 89, 89) == 'w' and sub(packed, 2, 2) == '\0' then call('SETRANGE', recordKey, 1, '\1') end
      return { 'in-progress', now - unpack('>I6', packed, 14), leaseEnd - now }
    end
    return sub(request, 88, 88) ~= 'r' and { 'unknown', leaseEnd } or nil
  end
  return sub(request, 88, 88) ~= 'r' and { 'unknown', (unpack('>I6', packed, 14)) } or nil
end

local function claim(recordKey, request)
  local packed, state = stored(recordKey)
  if packed and state ~= 'F' then
    -- Before everything else, the caller first: a stranger learns nothing, not even whether it asks for the same.
    if sub(packed, 48, 112) ~= sub(request, 23, 87) then
      return { sub(packed, 91, 112) ~= sub(request, 66, 87) and 'stranger' or 'mismatch' }
    end
    if state == 'D' then return sub(packed, HEADER + 1) end
    if state == 'T' then return { 'tombstone', sub(packed, HEADER + 1) } end
  end
  askClock()
  if not packed then return start(recordKey, request, '\0', nowUs, 1) end
  local awaited, fence, attempt = sub(packed, 2, 2), unpack('>I7I4', packed, 3)
  -- The reply was lost and the client has sent the same claim again: the grant is the one that it already has.
  local own = sub(packed, 26, 47) == sub(request, 1, 22)
  if state == 'F' then
    if own then return { 'withdrawn' } end
    attempt = 0
  elseif own then
    return start(recordKey, request, awaited, fence, attempt)
  else
    local refusal = refuse(recordKey, request, packed, state)
    if refusal then return refusal end
  end
  return start(recordKey, request, awaited, max(fence + 1, nowUs), attempt + 1)
end

local replies = {}
for at = 1, #KEYS - 1 do replies[at] = claim(KEYS[at], ARGV[at + 2]) end
if #opened > 0 then list(opened, ttlMs) end
return replies
