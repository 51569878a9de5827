import { ConfigurationError, fixedWindow, type RateLimiter } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { casesOf, LONG_MS } from './cases.ts'
import { decide, fromStore, passing, Rig, remaining, type StoreUnderTest, spend } from './rig.ts'

export function lookingAndGivingBackContract(under: StoreUnderTest): void {
  describe.each(casesOf(under.algorithms))('$algorithm', ({ policy, fromIdle, resetMs }) => {
    test('R8: a refund gives back what was spent, unit by unit', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(10, LONG_MS))
      await spend(limiter, 'a', fromIdle(10))
      expect(await decide(limiter, 'a')).toBe(false)
      await limiter.refund('a', 3)
      expect(await passing(limiter, 'a', 20)).toBe(3)
    })

    test('R8: a refund never makes spent quota negative', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(10, LONG_MS))
      await spend(limiter, 'a', 2)
      await limiter.refund('a', 1)
      await limiter.refund('a', 5_000_000_000)
      await limiter.refund('a', 1)
      expect(fromStore(await limiter.peek('a'))).toMatchObject({ remaining: 10, resetMs: 0 })
      expect(await passing(limiter, 'a', 30)).toBe(fromIdle(10))
    })

    test('R8: a refund never brings back a window that is over', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(4, 30))
      await spend(limiter, 'a', 4)
      await rig.advance(resetMs(30) + 2)
      await limiter.refund('a', 2)
      expect(fromStore(await limiter.peek('a'))).toMatchObject({ remaining: 4, resetMs: 0 })
    })

    test('R8: a refund to an unknown subject leaves it unknown', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(4, LONG_MS))
      await limiter.refund('a', 2)
      expect(fromStore(await limiter.peek('a'))).toMatchObject({ remaining: 4, resetMs: 0 })
      expect(await passing(limiter, 'a', 20)).toBe(fromIdle(4))
    })

    test('R8: a refund goes to every policy', async () => {
      const rig = await Rig.open(under)
      const wide = fixedWindow({ name: 'wide', limit: 100, windowMs: LONG_MS })
      const limiter = rig.limiter([wide, policy(4, LONG_MS, 'narrow')])
      await spend(limiter, 'a', fromIdle(4))
      await limiter.refund('a', 2)
      expect(await passing(limiter, 'a', 20)).toBe(2)
      const [left] = await remaining(limiter, 'a')
      expect(left).toBe(100 - fromIdle(4))
    })

    test('R9: peek changes nothing', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(4, LONG_MS))
      for (let look = 0; look < 20; look++) await limiter.peek('a', { cost: 4 })
      expect(fromStore(await limiter.peek('a'))).toMatchObject({ remaining: 4, resetMs: 0 })
      await spend(limiter, 'a', 1)
      for (let look = 0; look < 20; look++) await limiter.peek('a', { cost: 1 })
      expect(await passing(limiter, 'a', 20)).toBe(fromIdle(4) - 1)
    })

    test('R9: peek agrees with the next consume, for every cost and however much is spent', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(4, LONG_MS))
      for (let spent = 0; spent <= fromIdle(4); spent++) {
        for (const cost of [5, 4, 3, 2, 1]) await expectForetold(rig, limiter, cost)
        await decide(limiter, 'a')
      }
    })
  })

  test('R8, R9: a key that is no string, or an empty one, is an error', async () => {
    const rig = await Rig.open(under)
    const limiter = rig.limiter(fixedWindow({ limit: 4, windowMs: LONG_MS }))
    for (const key of ['', undefined, null, 7, {}] as string[]) {
      await expect(limiter.consume(key)).rejects.toThrow(ConfigurationError)
      await expect(limiter.peek(key)).rejects.toThrow(ConfigurationError)
      await expect(limiter.refund(key, 1)).rejects.toThrow(ConfigurationError)
      await expect(limiter.reset(key)).rejects.toThrow(ConfigurationError)
    }
  })
}

/** What a peek said of a cost, a consume must say, but for the time that passed between the two; then all is as before. */
async function expectForetold(rig: Rig, limiter: RateLimiter, cost: number): Promise<void> {
  const both = await rig.timed(async () => {
    const seen = fromStore(await limiter.peek('a', { cost }))
    return { seen, decision: fromStore(await limiter.consume('a', { cost })) }
  })
  const { seen, decision } = both.value
  const { allowed, policy, limit } = seen
  expect(decision).toMatchObject({ allowed, policy, limit })
  const apartMs = both.until - both.from + rig.slackMs
  for (const wait of ['retryAfterMs', 'delayMs'] as const) {
    if (Number.isFinite(seen[wait]))
      expect(Math.abs(decision[wait] - seen[wait])).toBeLessThanOrEqual(apartMs)
    else expect(decision[wait]).toBe(seen[wait])
  }
  if (allowed) await limiter.refund('a', cost)
  else expect(decision.remaining).toBe(seen.remaining)
}
