import fc from 'fast-check'
import { expect, it } from 'vitest'
import { portion } from '../../src/rate-limit/algorithms/portion.ts'

it('R7: a portion is exact for every amount and duration a policy may have', () => {
  const amount = fc.oneof(fc.integer({ min: 0, max: 1_000_000_000 }), fc.nat(1000))
  const duration = fc.oneof(
    fc.integer({ min: 1, max: 3_653 * 86_400_000 }),
    fc.integer({ min: 1, max: 1000 }),
  )
  fc.assert(
    fc.property(amount, duration, fc.oneof(duration, amount.filter(Boolean)), (a, b, c) => {
      // As it is used: a part of one of the other two.
      fc.pre(a <= c || b <= c)
      expect(portion(a, b, c)).toBe(Number((BigInt(a) * BigInt(b)) / BigInt(c)))
    }),
    { numRuns: 5000 },
  )
})
