-- Fixed window: the window starts at a subject's first request.
-- State: one integer, what is spent; the key's TTL is the window's end, set in the step that creates it.
-- Twin: packages/core/src/rate-limit/algorithms/fixed-window.ts
algorithms['fixed-window'] = {
  -- State: used, ms left, and whether the TTL must be set (nil: no; `false` where there is no key yet).
  read = function(key, policy, cost)
    local used = tonumber(pcall('GET', key))
    if used and used % 1 ~= 0 then used = nil end -- not one of ours
    local leftMs = used and call('PTTL', key)
    local windowMs, limit = policy.periodMs, policy.limit
    if not used or leftMs == 0 then return cost <= limit, 0, windowMs, false end
    -- A lost TTL starts the window anew; a window that was shortened since ends no later than a new one would.
    if leftMs < 0 or leftMs > windowMs then return used + cost <= limit, used, windowMs, true end
    return used + cost <= limit, used, leftMs
  end,

  charge = function(key, policy, cost, used, leftMs, healing)
    if healing == false then
      call('SET', key, costText, 'PX', policy.ttlText)
    else
      call('INCRBY', key, costText)
      if healing then call('PEXPIRE', key, policy.ttlText) end
    end
    return used + cost, leftMs
  end,

  -- Alone, a window counts first and takes back what does not fit: a command less, and nobody sees the step between.
  take = function(key, policy, cost)
    if cost > policy.limit then return nil end -- nothing to try, and some sums are too large to be exact
    local used = pcall('INCRBY', key, costText)
    if type(used) ~= 'number' then return nil end
    local windowMs, leftMs = policy.periodMs, call('PTTL', key)
    local fits = used <= policy.limit
    if leftMs > 0 and leftMs <= windowMs and fits then return true, used, leftMs end
    if leftMs == 0 then -- over
      call('DEL', key)
      return nil
    end
    if leftMs < 0 or leftMs > windowMs then
      leftMs = windowMs
      call('PEXPIRE', key, policy.ttlText)
    end
    if fits then return true, used, leftMs end
    call('DECRBY', key, costText)
    return false, used - cost, leftMs
  end,

  refund = function(key, policy, cost, used, leftMs, healing)
    if healing == false then return end
    if cost >= used then -- Nothing is spent: the next request starts a window of its own.
      call('DEL', key)
    else
      call('DECRBY', key, cost)
      if healing then call('PEXPIRE', key, policy.ttlText) end
    end
  end,

  heal = function(key, policy, _, _, healing)
    if healing then call('PEXPIRE', key, policy.ttlText) end
  end,

  -- used, ms left
  tell = function(reply, at, _, _, used, leftMs)
    reply[at + 1], reply[at + 2] = used, leftMs
    return at + 2
  end,
}
