-- Leaky bucket: the same arithmetic read as a line, one call in service and `capacity` calls waiting behind it.
-- #include bucket
algorithms['leaky-bucket'] = bucket(function(policy)
  return policy.limit > 0 and policy.limit + 1 or 0
end, function(state, policy, now)
  return math.ceil(missing(state, policy, now) / policy.amount)
end)
