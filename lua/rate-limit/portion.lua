-- floor(a * b / c), exactly, for integers from 0: up to 2^39, a below 2^30 where a * b needs more than a float's 53
-- bits. Twin: packages/core/src/rate-limit/algorithms/portion.ts
local function portion(a, b, c)
  local product = a * b
  if product <= 9007199254740991 then return floor(product / c) end
  -- Long division, ten bits of `a` at a time.
  local quotient, rest = 0, 0
  for _, unit in ipairs({ 1048576, 1024, 1 }) do
    local part = rest * 1024 + floor(a / unit) % 1024 * b
    local times = floor(part / c)
    quotient, rest = quotient * 1024 + times, part - times * c
  end
  return quotient
end
