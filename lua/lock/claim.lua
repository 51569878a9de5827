-- Whether a claim of one lock may be granted. If not, it may stand in line.
-- #include owner
-- #include line

-- Until the lock may be free, in ms. One that lost its TTL would never be.
local function leftMs(holderKey, leaseMs)
  local left = call('PTTL', holderKey)
  if left >= 0 then return left end
  call('PEXPIRE', holderKey, leaseMs)
  return tonumber(leaseMs)
end

-- Nothing if it may; the fence that it has already; or { ms until the lock may be free, since when it stands in line, or 0 }.
local function refusal(holderKey, lineKey, token, leaseMs, waiter, since)
  local held = call('GET', holderKey)
  if isOwn(held, token) then
    -- The reply was lost, and the client has sent it again: it counts the lease from now on.
    call('PEXPIRE', holderKey, leaseMs)
    return (parts(held))
  end
  if waiter and held == '>' .. waiter then return nil end
  readClock()
  local came = waiter and stand(lineKey, waiter, since) or 0
  if held then
    if waiter and sub(held, 1, 1) == '=' then call('SETRANGE', holderKey, 0, '+') end
    return { leftMs(holderKey, leaseMs), came }
  end
  local first = nextInLine(lineKey)
  if not first or first == waiter then return nil end
  keepFor(holderKey, first)
  return { TURN_MS, came }
end
