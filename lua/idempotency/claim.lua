-- Claims a key for one run of the work, or says why not and brings what is stored.
-- KEYS: the record, the index.
-- ARGV: token; fingerprint and caller (digests, as one); leaseMs; ttlMs (of the record: lease and result); r if an
--       unknown outcome may be run again, w if the caller will wait for news, rw, or nothing; the key's name in the index.
-- Reply: the payload of a completed record | {'started', fence, attempt} | {'tombstone', payload} | {'in-progress',
--        ms since the claim, ms of lease left} | {'unknown', since} | {'mismatch'} | {'stranger'} | {'withdrawn'}
-- Cost: O(1), and O(log n) in the keys that are claimed or unknown.
-- #include record

local token, identity = ARGV[1], ARGV[2]

if state ~= 'F' then
  -- Before everything else, the caller first: a stranger learns nothing, not even whether it asks for the same.
  if sub(packed, 48, 112) ~= identity then
    return { sub(packed, 91, 112) ~= sub(identity, 44) and 'stranger' or 'mismatch' }
  end
  if state == 'D' then return sub(packed, HEADER + 1) end
  if state == 'T' then return { 'tombstone', sub(packed, HEADER + 1) } end
end

-- #include clock
-- #include index

local leaseMs, ttlMs, flags = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local awaited = packed and sub(packed, 2, 2) or '\0'
local fence, attempt = 0, 0
if packed then fence, attempt = unpack('>I7I4', packed, 3) end
-- The reply was lost and the client has sent the same claim again: the grant is the one that it already has.
local own = packed and sub(packed, 26, 47) == token

if state == 'F' then
  if own then return { 'withdrawn' } end
  attempt = 0
elseif not own then
  if state == 'C' then
    if awaited == '\0' and flags:find('w', 1, true) then call('SETRANGE', recordKey, 1, '\1') end
    return { 'in-progress', now - unpack('>I6', packed, 14), leaseEnd - now }
  end
  if not flags:find('r', 1, true) then
    return { 'unknown', leaseOver and leaseEnd or (unpack('>I6', packed, 14)) }
  end
end
if not own then fence, attempt = max(fence + 1, nowUs), attempt + 1 end

local numbers = pack('>I7I4I6I6', fence, attempt, now, now + leaseMs)
call('SET', recordKey, 'C' .. awaited .. numbers .. token .. identity, 'PX', ARGV[4])
list(ARGV[6], ttlMs)
return { 'started', fence, attempt }
