-- Claims a key for one run of the work, or says why not and brings what is stored.
-- KEYS: the record, the index.
-- ARGV: token; fingerprint and caller (digests); leaseMs; resultTtlMs; 1 if an unknown outcome may be run again;
--       1 if the caller will wait for news; the key's name in the index.
-- Reply: {'started', fence, attempt} | {'replay', payload} | {'tombstone', payload} | {'in-progress', ms since the
--        claim, ms of lease left} | {'unknown', since} | {'mismatch'} | {'stranger'} | {'withdrawn'}
-- Cost: O(1), and O(log n) in the keys that are claimed or unknown.
-- #include record

local token, leaseMs, resultTtlMs = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5])
local mayRerun, willWait, member = ARGV[6] == '1', ARGV[7] == '1', ARGV[8]

if state and state ~= 'F' then
  -- Before everything else, so that a stranger learns nothing, not even whether it asks for the same.
  if caller ~= ARGV[3] then return { 'stranger' } end
  if fingerprint ~= ARGV[2] then return { 'mismatch' } end
  if state == 'D' then return { 'replay', sub(packed, HEADER + 1) } end
  if state == 'T' then return { 'tombstone', sub(packed, HEADER + 1) } end
  -- The reply was lost and the client has sent the same claim again: the grant is the one it already has.
  local own = owner == token
  if state == 'C' and not own then
    if willWait and awaited == 0 then call('SETRANGE', recordKey, 1, '\1') end
    return { 'in-progress', now - since, leaseEnd - now }
  end
  if state == 'U' and not own and not mayRerun then return { 'unknown', since } end
  if not own then attempt, fence = attempt + 1, max(fence + 1, nowUs) end
else
  if state == 'F' and owner == token then return { 'withdrawn' } end
  attempt, fence = 1, max((fence or 0) + 1, nowUs)
end

since, leaseEnd, owner, fingerprint, caller = now, now + leaseMs, token, ARGV[2], ARGV[3]
local ttlMs = leaseMs + resultTtlMs
write('C', '', ttlMs)
list(member, ttlMs)
return { 'started', fence, attempt }
