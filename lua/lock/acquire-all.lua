-- Takes several locks with one fence, or none. Those that the token holds already are its own: so the same claim is
-- sent again without harm, and locks taken one by one get their common fence.
-- KEYS: of each lock the holder, the fence, the line.
-- ARGV: token; leaseMs; metadata.
-- Reply: the fence | {ms until all may be free, 0}
-- Cost: as acquire, for each lock.
-- #include grant
-- #include line
-- #include claim

local token, leaseMs, metadata = ARGV[1], ARGV[2], ARGV[3]

-- Ms until this lock may be free for us; 0 now. And its fence, if it is our own.
local function look(holderKey, lineKey)
  local held = call('GET', holderKey)
  if isOwn(held, token) then return 0, fenceOf(held, token) end
  if held then return math.max(leftMs(holderKey, leaseMs), 1) end
  local waiter = nextInLine(lineKey)
  if not waiter then return 0 end
  keepFor(holderKey, waiter)
  return TURN_MS
end

local keys, longestMs, same = {}, 0, true
local fence
for i = 1, #KEYS, 3 do
  local waitMs, own = look(KEYS[i], KEYS[i + 2])
  longestMs = math.max(longestMs, waitMs)
  same = same and own and (not fence or own == fence)
  fence = own
  keys[#keys + 1] = { KEYS[i], KEYS[i + 1] }
end

if longestMs > 0 then return { longestMs, 0 } end
if not same then return grant(keys, token, leaseMs, metadata) end
for _, key in ipairs(keys) do call('PEXPIRE', key[1], leaseMs) end
return fence
