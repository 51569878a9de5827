-- The arithmetic of both buckets: units spent, and since when the rate gives them back. Integers throughout: the
-- anchor moves in whole periods only, so nothing is ever rounded.
-- State: anchor in ms (6 bytes), units spent since (4 bytes).
-- Twin: packages/core/src/rate-limit/algorithms/bucket.ts
-- #include clock

-- What is missing now, in units of 1/periodMs of a token.
local function missing(policy, anchor, spent)
  return spent * policy.periodMs - (now - anchor) * policy.amount
end

local function storeBucket(key, policy, anchor, spent)
  local ttlMs = min(1e15, ceil(missing(policy, anchor, spent) / policy.amount))
  call('SET', key, pack('>I6I4', anchor, spent), 'PX', ttlMs)
end

-- `extra`: units that fit beyond the limit.
local function bucket(extra)
  return {
    -- State: anchor, units spent since.
    read = function(key, policy, cost)
      local packed, anchor, spent = pcall('GET', key), now, 0
      if type(packed) == 'string' and #packed == 10 then anchor, spent = unpack('>I6I4', packed) end
      if anchor > now then anchor = now end -- A clock that was set back must not lock anyone out.
      local lacking, limit = missing(policy, anchor, spent), policy.limit
      if lacking <= 0 then anchor, spent, lacking = now, 0, 0 end
      return cost <= limit and lacking <= (limit + extra - cost) * policy.periodMs, anchor, spent
    end,

    charge = function(key, policy, cost, anchor, spent)
      local periods = floor((now - anchor) / policy.periodMs)
      anchor, spent = anchor + periods * policy.periodMs, spent + cost - periods * policy.amount
      storeBucket(key, policy, anchor, spent)
      return anchor, spent
    end,

    refund = function(key, policy, cost, anchor, spent)
      if missing(policy, anchor, spent - cost) <= 0 then
        call('DEL', key)
      else
        storeBucket(key, policy, anchor, spent - cost)
      end
    end,

    heal = function(key, policy, _, anchor, spent)
      if call('PTTL', key) == -1 then storeBucket(key, policy, anchor, spent) end
    end,

    -- ms since the anchor, units spent since
    tell = function(reply, at, _, _, anchor, spent)
      reply[at + 1], reply[at + 2] = now - anchor, spent
      return at + 2
    end,
  }
end
