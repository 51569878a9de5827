import { slidingLog } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { casesOf, LONG_MS } from './cases.ts'
import { decide, fromStore, passing, Rig, remaining, type StoreUnderTest } from './rig.ts'

const TEN_YEARS_MS = 3_653 * 86_400_000

export function numbersContract(under: StoreUnderTest): void {
  const chosen = casesOf(under.algorithms)
  describe.each(chosen)('$algorithm', ({ policy, fromIdle, resetMs, maxLimit }) => {
    test('R5: of many requests at once exactly the limit pass, for each of many subjects', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(7, LONG_MS))
      const subjects = Array.from({ length: 20 }, (_, index) => `subject ${index}`)
      const passed = await Promise.all(subjects.map((subject) => passing(limiter, subject, 25)))
      expect(passed).toEqual(subjects.map(() => fromIdle(7)))
    })

    test('R7: a window of 1 ms', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(3, 1))
      for (let round = 0; round < 3; round++) {
        expect(await decide(limiter, 'a', 3)).toBe(true)
        await rig.advance(resetMs(1))
      }
    })

    test('R7: a window of ten years', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(3, TEN_YEARS_MS))
      const { value, from, until } = await rig.timed(() => limiter.consume('a', { cost: 3 }))
      const [spent] = fromStore(value).policies
      expect(spent).toMatchObject({ windowMs: TEN_YEARS_MS })
      expect(spent?.resetMs).toBeLessThanOrEqual(resetMs(TEN_YEARS_MS))
      expect(spent?.resetMs).toBeGreaterThanOrEqual(
        resetMs(TEN_YEARS_MS) - (until - from) - rig.slackMs,
      )
      for (let extra = 3; extra < fromIdle(3); extra++) await decide(limiter, 'a')
      const { allowed, retryAfterMs } = fromStore(await limiter.consume('a', { cost: 3 }))
      expect(allowed).toBe(false)
      expect(retryAfterMs).toBeGreaterThan(TEN_YEARS_MS * 0.9)
      expect(retryAfterMs).toBeLessThanOrEqual(resetMs(TEN_YEARS_MS))
    })

    test('R7: 1 ms more in a window is 1 ms more', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter([policy(1, 60_000, 'shorter'), policy(1, 60_001, 'longer')])
      const { policies } = fromStore(await limiter.consume('a'))
      expect(policies.map((state) => state.resetMs)).toEqual([resetMs(60_000), resetMs(60_001)])
    })

    test('R3: the largest costs there are leave what is spent as it is, and as it is told', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(100, LONG_MS))
      await decide(limiter, 'a', 2)
      const left = (await limiter.peek('a')).remaining
      for (const cost of [2 ** 53 - 1, 2 ** 53 - 2, 2 ** 52 + 1, 101]) {
        const decision = fromStore(await limiter.consume('a', { cost }))
        expect(decision, `cost ${cost}`).toMatchObject({
          allowed: false,
          remaining: left,
          retryAfterMs: Infinity,
        })
      }
    })

    test('R7: a limit of 0 refuses everything, for ever', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(0, 5))
      for (let call = 0; call < 3; call++) {
        const decision = fromStore(await limiter.consume('a'))
        expect(decision).toMatchObject({
          allowed: false,
          limit: 0,
          remaining: 0,
          retryAfterMs: Infinity,
          resetMs: 0,
        })
        await rig.advance(20)
      }
    })

    test('R7: the largest limit counts to its last unit', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(maxLimit, TEN_YEARS_MS))
      expect(await decide(limiter, 'a', maxLimit - 1)).toBe(true)
      const [left = 0] = await remaining(limiter, 'a')
      expect(left).toBe(fromIdle(maxLimit) - maxLimit + 1)
      for (let unit = 0; unit < left; unit++) expect(await decide(limiter, 'a')).toBe(true)
      expect(await decide(limiter, 'a')).toBe(false)
    })
  })

  // On a clock that goes on by itself, ten years are too long to wait.
  if (!under.now && chosen.some(({ algorithm }) => algorithm === 'sliding-log'))
    test('R7: what left a log of ten years does not come back, however long it lies there', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(slidingLog({ limit: 3, windowMs: TEN_YEARS_MS }))
      for (const left of [2, 1, 1]) {
        expect(await decide(limiter, 'a')).toBe(true)
        expect(await remaining(limiter, 'a')).toEqual([left])
        await rig.advance(TEN_YEARS_MS - 1000)
      }
    })
}
