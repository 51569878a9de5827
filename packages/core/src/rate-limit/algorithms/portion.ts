/**
 * `floor(a * b / c)`, exactly, for integers from 0 to 2^39, `a` below 2^30 where `a * b` needs more than a float's 53 bits:
 * amounts and durations are that small, and their products are not. Twin: `lua/rate-limit/portion.lua`.
 */
export function portion(a: number, b: number, c: number): number {
  const product = a * b
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / c)
  // Long division, ten bits of `a` at a time.
  let quotient = 0
  let rest = 0
  for (const unit of [1_048_576, 1024, 1]) {
    const part = rest * 1024 + (Math.floor(a / unit) % 1024) * b
    const times = Math.floor(part / c)
    quotient = quotient * 1024 + times
    rest = part - times * c
  }
  return quotient
}
