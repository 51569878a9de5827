-- One claim of one lock, which may stand in line.
-- #include owner
-- #include line

-- Until the lock may be free, in ms. One that lost its TTL would never be.
local function leftMs(holderKey, leaseMs)
  local left = call('PTTL', holderKey)
  if left >= 0 then return left end
  call('PEXPIRE', holderKey, leaseMs)
  return tonumber(leaseMs)
end

-- The fence, or { ms until it may be free, since when the waiter stands in line, or 0 }.
local function claim(holderKey, fenceKey, lineKey, token, leaseMs, metadata, waiter, since)
  local held = call('GET', holderKey)
  if isOwn(held, token) then
    -- The reply was lost, and the client has sent it again: it counts the lease from now on.
    call('PEXPIRE', holderKey, leaseMs)
    return (parts(held))
  end
  if waiter and held == '>' .. waiter then return grant(holderKey, fenceKey, flagOf(lineKey), token, leaseMs, metadata) end
  readClock()
  local came = waiter and stand(lineKey, waiter, since) or 0
  if held then
    if waiter and sub(held, 1, 1) == '=' then call('SETRANGE', holderKey, 0, '+') end
    return { leftMs(holderKey, leaseMs), came }
  end
  local first = nextInLine(lineKey)
  if not first or first == waiter then
    return grant(holderKey, fenceKey, flagOf(lineKey), token, leaseMs, metadata)
  end
  keepFor(holderKey, first)
  return { TURN_MS, came }
end
