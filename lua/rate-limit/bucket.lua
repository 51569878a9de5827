-- The arithmetic of both buckets: units spent, and since when the rate gives them back. Integers throughout: the
-- anchor moves in whole periods only, so nothing is ever rounded.
-- State: anchor in ms (6 bytes), units spent since (4 bytes).
-- Twin: packages/core/src/rate-limit/algorithms/bucket.ts
-- #include clock
-- #include portion

-- Whole units that have come back since the anchor.
local function returned(policy, anchor)
  local elapsedMs, periodMs = now - anchor, policy.periodMs
  local periods = floor(elapsedMs / periodMs)
  return periods * policy.amount + portion(policy.amount, elapsedMs - periods * periodMs, periodMs)
end

-- Milliseconds from now until all that was spent has come back.
local function resetMs(policy, anchor, spent)
  local amount, periodMs = policy.amount, policy.periodMs
  local periods = floor(spent / amount)
  local untilBack = (periods + 1) * periodMs - portion((periods + 1) * amount - spent, periodMs, amount)
  return anchor + untilBack - now
end

local function storeBucket(key, policy, anchor, spent)
  call('SET', key, pack('>I6I4', anchor, spent), 'PX', min(1e15, resetMs(policy, anchor, spent)))
end

-- `extra`: units that fit beyond the limit.
local function bucket(extra)
  return {
    -- State: anchor, units spent since.
    read = function(key, policy, cost)
      local packed, anchor, spent = pcall('GET', key), now, 0
      if type(packed) == 'string' and #packed == 10 then anchor, spent = unpack('>I6I4', packed) end
      if anchor > now then
        anchor = now
        noteSetBack(key)
      end
      local missing, limit = spent - returned(policy, anchor), policy.limit
      if missing <= 0 then anchor, spent, missing = now, 0, 0 end
      return cost <= limit and missing + cost <= limit + extra, anchor, spent
    end,

    charge = function(key, policy, cost, anchor, spent)
      local periods = floor((now - anchor) / policy.periodMs)
      anchor, spent = anchor + periods * policy.periodMs, spent + cost - periods * policy.amount
      storeBucket(key, policy, anchor, spent)
      return anchor, spent
    end,

    refund = function(key, policy, cost, anchor, spent)
      if spent - cost <= returned(policy, anchor) then
        call('DEL', key)
      else
        storeBucket(key, policy, anchor, spent - cost)
      end
    end,

    heal = function(key, policy, anchor, spent)
      if wasSetBack(key) then
        storeBucket(key, policy, anchor, spent)
      else
        keepFor(key, resetMs(policy, anchor, spent))
      end
    end,

    -- ms since the anchor, units spent since
    tell = function(reply, at, _, _, anchor, spent)
      reply[at + 1], reply[at + 2] = now - anchor, spent
      return at + 2
    end,
  }
end
