import { ConfigurationError, createRateLimiter, fixedWindow } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { casesOf, LONG_MS } from './cases.ts'
import { decide, fromStore, passing, Rig, remaining, type StoreUnderTest, spend } from './rig.ts'

export function spendingContract(under: StoreUnderTest): void {
  describe.each(casesOf(under.algorithms))('$algorithm', ({ policy, fromIdle }) => {
    test('R1: a refused request consumes nothing: of 10, 8 pass, 5 are refused, 2 pass', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(10, LONG_MS))
      expect(await decide(limiter, 'a', 8)).toBe(true)
      for (let again = 0; again < 20; again++) expect(await decide(limiter, 'a', 5)).toBe(false)
      expect(await decide(limiter, 'a', 2)).toBe(true)
      expect(await decide(limiter, 'a', fromIdle(10) - 10 + 1)).toBe(false)
    })

    test('R1: calls at once spend what each of them costs', async () => {
      const rig = await Rig.open(under)
      const alone = rig.limiter(policy(100, LONG_MS))
      const wide = fixedWindow({ name: 'wide', limit: 1000, windowMs: LONG_MS })
      const both = rig.limiter([policy(100, LONG_MS), wide], { name: 'both' })
      const costs = [1, 50, 7, 100, 2, 33]
      for (const limiter of [alone, both]) {
        await Promise.all(costs.map((cost) => limiter.consume(`cost ${cost}`, { cost })))
        for (const cost of costs) {
          const [left] = await remaining(limiter, `cost ${cost}`)
          expect(left).toBe(fromIdle(100) - cost)
        }
      }
    })

    test('R1: a request that another policy refuses consumes nothing either', async () => {
      const rig = await Rig.open(under)
      const narrow = fixedWindow({ name: 'narrow', limit: 1, windowMs: LONG_MS })
      const limiter = rig.limiter([policy(10, LONG_MS, 'wide'), narrow])
      for (const passes of [true, false, false]) expect(await decide(limiter, 'a')).toBe(passes)
      const wide = rig.limiter(policy(10, LONG_MS, 'wide'))
      expect(await passing(wide, 'a', 20)).toBe(fromIdle(10) - 1)
    })

    test('R2: if any policy refuses, none is charged: of five requests, A = 1 an hour lets B = 100 an hour spend 1', async () => {
      const rig = await Rig.open(under)
      const a = policy(1, LONG_MS, 'A')
      const b = fixedWindow({ name: 'B', limit: 100, windowMs: LONG_MS })
      const limiters = [
        rig.limiter([a, b], { name: 'A, B' }),
        rig.limiter([b, a], { name: 'B, A' }),
      ]
      for (const limiter of limiters) {
        for (let call = 0; call < 5; call++) await decide(limiter, 'a')
        const left = await remaining(limiter, 'a')
        expect(left).toContain(0)
        expect(left).toContain(100 - fromIdle(1))
      }
    })

    test('R2: requests at once are charged to all policies or to none', async () => {
      const rig = await Rig.open(under)
      const a = policy(5, LONG_MS, 'A')
      const b = fixedWindow({ name: 'B', limit: 100, windowMs: LONG_MS })
      const limiter = rig.limiter([b, a])
      expect(await passing(limiter, 'a', 40)).toBe(fromIdle(5))
      const [left] = await remaining(limiter, 'a')
      expect(left).toBe(100 - fromIdle(5))
    })

    test('R3: a cost above the limit never passes, waits for ever, and is not charged', async () => {
      const rig = await Rig.open(under)
      // With the deny cache on: nothing may be remembered that would refuse a smaller cost.
      const limiter = createRateLimiter({
        name: 'c',
        policy: policy(10, LONG_MS),
        store: rig.store,
      })
      const refused = fromStore(await limiter.consume('a', { cost: 11 }))
      expect(refused).toMatchObject({
        allowed: false,
        retryAfterMs: Infinity,
        resetMs: 0,
        remaining: 10,
      })
      expect(await limiter.consume('a', { cost: 12 })).toMatchObject({ retryAfterMs: Infinity })
      expect(fromStore(await limiter.consume('a', { cost: 10 }))).toMatchObject({ allowed: true })
    })

    test('R3: a cost that is no integer of at least 1 is an error, and nothing is charged', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(10, LONG_MS))
      const wrong = [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, '1', null] as number[]
      for (const cost of wrong) {
        await expect(limiter.consume('a', { cost })).rejects.toThrow(ConfigurationError)
        await expect(limiter.peek('a', { cost })).rejects.toThrow(ConfigurationError)
        await expect(limiter.refund('a', cost)).rejects.toThrow(ConfigurationError)
      }
      expect(await passing(limiter, 'a', 20)).toBe(fromIdle(10))
    })
  })

  test('R2: a decision lists every policy in order, and names the one that refuses for longest', async () => {
    const rig = await Rig.open(under)
    const limiter = rig.limiter([
      fixedWindow({ name: 'hour', limit: 1, windowMs: 3_600_000 }),
      fixedWindow({ name: 'day', limit: 1, windowMs: 86_400_000 }),
      fixedWindow({ name: 'free', limit: 9, windowMs: 864_000_000 }),
    ])
    await spend(limiter, 'a', 1)
    const decision = fromStore(await limiter.consume('a'))
    expect(decision).toMatchObject({ allowed: false, policy: 'day', limit: 1, remaining: 0 })
    expect(decision.policies.map(({ name }) => name)).toEqual(['hour', 'day', 'free'])
    expect(decision.policies.map(({ allowed }) => allowed)).toEqual([false, false, true])
    expect(decision.policies.map((policy) => policy.remaining)).toEqual([0, 0, 8])
    expect(decision.policies[2]).toMatchObject({ retryAfterMs: 0 })
  })

  test('R2: an admitted decision names the policy nearest to its limit', async () => {
    const rig = await Rig.open(under)
    const limiter = rig.limiter([
      fixedWindow({ name: 'wide', limit: 9, windowMs: LONG_MS }),
      fixedWindow({ name: 'narrow', limit: 5, windowMs: LONG_MS }),
    ])
    expect(fromStore(await limiter.consume('a'))).toMatchObject({ policy: 'narrow', remaining: 4 })
  })
}
