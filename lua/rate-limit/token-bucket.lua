-- Token bucket: tokens come back continuously, up to the capacity.
-- #include bucket
algorithms['token-bucket'] = bucket(0)
