-- Leaky bucket: the same arithmetic read as a line, one call in service and `capacity` calls waiting behind it.
-- #include bucket
algorithms['leaky-bucket'] = bucket(1)
