-- Token bucket: tokens come back continuously, up to the capacity.
-- #include bucket
algorithms['token-bucket'] = bucket(function(policy)
  return policy.limit
end, function()
  return 0
end)
