-- Makes leases last `leaseMs` from now, if the token still holds all of the locks. What it lost stays lost.
-- KEYS: the holders.
-- ARGV: token; leaseMs.
-- Reply: 1 (extended) or 0 (lost)
-- Cost: O(1) for each lock.
-- #include layout
-- #include owner

for _, key in ipairs(KEYS) do
  if not isOwn(call('GET', key), ARGV[1]) then return 0 end
end
for _, key in ipairs(KEYS) do call('PEXPIRE', key, ARGV[2]) end
return 1
