-- Takes several locks with one fence, or none. Those that the token holds already are its own: so the same claim is
-- sent again without harm, and locks taken one by one get their common fence.
-- KEYS: of each lock the holder, the fence, the line.
-- ARGV: token; leaseMs; metadata.
-- Reply: the fence | {ms until all may be free, 0}
-- Cost: as acquire, for each lock.
-- #include layout
-- #include claim

local token, leaseMs, metadata = ARGV[1], ARGV[2], ARGV[3]

-- Ms until this lock may be free for us; 0 now. And its fence, if it is our own.
local function look(holderKey, lineKey)
  local held = call('GET', holderKey)
  if isOwn(held, token) then return 0, (parts(held)) end
  if held then return math.max(leftMs(holderKey, leaseMs), 1) end
  local waiter = nextInLine(lineKey)
  if not waiter then return 0 end
  keepFor(holderKey, waiter)
  return TURN_MS
end

-- Writes all leases with one fence, and returns it.
local function grantAll()
  readClock()
  local fence, text = nowUs, format('%.0f', nowUs)
  for i = 2, #KEYS, 3 do
    local last = tonumber(call('SET', KEYS[i], text, 'PX', FENCE_TTL, 'GET') or 0)
    if last and last >= fence and last < HIGHEST then fence = last + 1 end
  end
  if fence ~= nowUs then
    text = format('%.0f', fence)
    for i = 2, #KEYS, 3 do call('SET', KEYS[i], text, 'PX', FENCE_TTL) end
    text = format('%s@%.0f', text, nowMs)
  end
  local lease = token .. ' ' .. text .. ' ' .. metadata
  for i = 1, #KEYS, 3 do call('SET', KEYS[i], flagOf(KEYS[i + 2]) .. lease, 'PX', leaseMs) end
  return fence
end

local longestMs, same = 0, true
local fence
for i = 1, #KEYS, 3 do
  local waitMs, own = look(KEYS[i], KEYS[i + 2])
  longestMs = math.max(longestMs, waitMs)
  same = same and own and (not fence or own == fence)
  fence = own
end

if longestMs > 0 then return { longestMs, 0 } end
if not same then return grantAll() end
for i = 1, #KEYS, 3 do call('PEXPIRE', KEYS[i], leaseMs) end
return fence
