import {
  BurstyRateLimiter,
  RateLimiterClusterMaster,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterUnion,
  RLWrapperBlackAndWhite,
  RLWrapperTimeouts,
} from 'rate-limiter-flexible'
import { describe, expect, it } from 'vitest'
import {
  ConfigurationError,
  createRateLimiter,
  type FlexibleLimiter,
  type FlexibleOptions,
  fixedWindow,
  fromFlexible,
} from '../../src/index.ts'

const quota = { points: 2, duration: 60 }

describe('the wrappers of rate-limiter-flexible', () => {
  it('R34: may refuse or admit by lists', async () => {
    const limiter = new RateLimiterMemory(quota)
    const lists = { blackList: ['mallory'], whiteList: ['root'] }
    const listed = fromFlexible(new RLWrapperBlackAndWhite({ limiter, ...lists }))
    expect(listed.policies[0]).toMatchObject({ limit: 2, windowMs: 60_000 })
    const never = { allowed: false, remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY }
    expect(await listed.peek('mallory')).toMatchObject(never)
    expect(await listed.consume('mallory')).toMatchObject(never)
    for (let call = 0; call < 4; call++)
      expect(await listed.consume('root', { cost: 3 })).toMatchObject({
        allowed: true,
        remaining: 2,
      })
    expect((await listed.peek('root', { cost: 3 })).allowed).toBe(true)
    expect((await listed.consume('ann')).remaining).toBe(1)
  })

  it('R34: hear of every refused call, since the library may count those too', async () => {
    const limiter = new RateLimiterMemory(quota)
    const wrapped = fromFlexible(new RLWrapperBlackAndWhite({ limiter }))
    for (let call = 0; call < 6; call++) await wrapped.consume('ann')
    expect(await limiter.get('ann')).toMatchObject({ consumedPoints: 6 })
  })

  it('R34: may give up on a limiter that is late, which is a failure', async () => {
    const limiter = new RateLimiterMemory(quota)
    const patient = fromFlexible(new RLWrapperTimeouts({ limiter, timeoutMs: 1000 }))
    expect(patient.policies[0]).toMatchObject({ limit: 2, windowMs: 60_000 })
    await patient.consume('ann', { cost: 2 })
    expect(await patient.consume('ann')).toMatchObject({ allowed: false, source: 'store' })
    limiter.consume = () => new Promise(() => {})
    const hasty = fromFlexible(new RLWrapperTimeouts({ limiter, timeoutMs: 1 }))
    expect(await hasty.consume('ann')).toMatchObject({ allowed: true, source: 'local' })
  })
})

describe('a BurstyRateLimiter', () => {
  function bursty(burstPoints: number) {
    const steady = new RateLimiterMemory(quota)
    const burst = new RateLimiterMemory({ points: burstPoints, duration: 600 })
    return { steady, burst, limiter: fromFlexible(new BurstyRateLimiter(steady, burst)) }
  }

  it('R34: reports its first limiter, and lets pass what the second takes', async () => {
    const { limiter } = bursty(1)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, remaining: 0 })
    const refused = await limiter.consume('ann')
    expect(refused).toMatchObject({ allowed: false, remaining: 0 })
    expect(refused.retryAfterMs).toBeGreaterThan(50_000)
    expect(refused.retryAfterMs).toBeLessThanOrEqual(60_000)
  })

  it.each([1, 4])(
    'R9, R34: peek agrees with the next consume at every step, for a burst of %d',
    async (burstPoints) => {
      const { limiter } = bursty(burstPoints)
      const costs = [1, burstPoints, 2, 1, 1, 5]
      for (const cost of costs) {
        const expected = (await limiter.peek('ann', { cost })).allowed
        expect((await limiter.consume('ann', { cost })).allowed).toBe(expected)
      }
    },
  )

  it('R9, R34: peek knows what the burst takes when the first limiter was never asked', async () => {
    const { burst, limiter } = bursty(4)
    expect((await limiter.peek('ann', { cost: 4 })).allowed).toBe(true)
    await burst.consume('ann', 1)
    expect((await limiter.peek('ann', { cost: 4 })).allowed).toBe(false)
    expect((await limiter.peek('ann', { cost: 3 })).allowed).toBe(true)
    expect((await limiter.peek('ann', { cost: 5 })).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
  })

  it('R34: whose second limiter fails, is a failure', async () => {
    const steady = new RateLimiterMemory(quota)
    const failing = new RateLimiterMemory(quota)
    failing.consume = () => Promise.reject(new Error('gone'))
    const burst = new RLWrapperBlackAndWhite({ limiter: failing })
    const limiter = fromFlexible(new BurstyRateLimiter(steady, burst))
    await limiter.consume('ann', { cost: 2 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'local' })
  })

  it('R34: a reset forgets both of its counts, a refund goes to the first', async () => {
    const { steady, burst, limiter } = bursty(1)
    await limiter.consume('ann')
    await limiter.refund('ann', 1)
    expect(await steady.get('ann')).toMatchObject({ consumedPoints: 0 })
    for (let call = 0; call < 3; call++) await limiter.consume('ann')
    await limiter.reset('ann')
    expect([await steady.get('ann'), await burst.get('ann')]).toEqual([null, null])
  })
})

describe('a RateLimiterUnion', () => {
  const fast = () => new RateLimiterMemory({ keyPrefix: 'fast', points: 2, duration: 1 })
  const slow = () => new RateLimiterMemory({ keyPrefix: 'slow', points: 3, duration: 60 })

  it('R34: gives a policy for each of its limiters', async () => {
    const limiter = fromFlexible(new RateLimiterUnion(fast(), slow()), { name: 'both' })
    expect(limiter.name).toBe('both')
    const decision = await limiter.consume('ann')
    expect(decision).toMatchObject({ allowed: true, policy: 'fast', remaining: 1 })
    expect(decision.policies).toMatchObject([
      { name: 'fast', limit: 2, windowMs: 1000, remaining: 1 },
      { name: 'slow', limit: 3, windowMs: 60_000, remaining: 2 },
    ])
  })

  it('R34: refuses when one of them does, charges the others, and names it', async () => {
    const limiter = fromFlexible(new RateLimiterUnion(fast(), slow()))
    await limiter.consume('ann', { cost: 2 })
    const decision = await limiter.consume('ann')
    expect(decision).toMatchObject({ allowed: false, policy: 'fast', remaining: 0 })
    expect(decision.policies).toMatchObject([
      { name: 'fast', allowed: false },
      { name: 'slow', allowed: true, remaining: 0 },
    ])
    expect((await limiter.peek('ann')).policy).toBe('slow')
    await limiter.refund('ann', 1)
    expect((await limiter.peek('ann')).policies).toMatchObject([{}, { remaining: 1 }])
    await limiter.reset('ann')
    expect((await limiter.peek('ann')).policies).toMatchObject([{ remaining: 2 }, { remaining: 3 }])
  })

  it('R34: of which one fails, is a failure', async () => {
    const failing = slow()
    failing.consume = () => Promise.reject(new Error('gone'))
    const union = new RateLimiterUnion(fast(), new RLWrapperBlackAndWhite({ limiter: failing }))
    const limiter = fromFlexible(union, { onStoreFailure: 'closed' })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, source: 'closed' })
  })
})

describe('what fromFlexible() cannot use', () => {
  const memory = new RateLimiterMemory(quota)
  const own = createRateLimiter({ policy: fixedWindow({ limit: 1, windowMs: 1 }) })
  const even = new RateLimiterMemory({ ...quota, execEvenly: true })

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /a limiter of rate-limiter-flexible/],
    ['options of a limiter', quota, /one with consume, get, reward/],
    ['a limiter of our own', own, /one with consume, get, reward/],
    ['a queue', new RateLimiterQueue(memory), /leakyBucket\(\)/],
    ['the master of a cluster', new RateLimiterClusterMaster(), /one with consume/],
    ['what only consumes', { consume: async () => ({}) }, /one with consume, get, reward/],
    ['a limiter without numbers', withoutNumbers(), /`points` and `duration`/],
    ['pauses of a remote limiter', new RLWrapperBlackAndWhite({ limiter: even }), /execEvenly/],
    ['a union of one prefix', new RateLimiterUnion(memory, even), /keyPrefix/],
    [
      'a union with a prefix that no field can carry',
      new RateLimiterUnion(memory, new RateLimiterMemory({ ...quota, keyPrefix: 'ż' })),
      /keyPrefix/,
    ],
  ])('R34: %s is refused at construction', (_what, limiter, message) => {
    const make = () => fromFlexible(limiter as FlexibleLimiter)
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(message)
    expect(make).toThrow(/^fromFlexible: `limiter` must be /)
  })

  it.each<[string, object, RegExp]>([
    ['timeout', { timeout: 5 }, /did you mean `timeoutMs`/],
    ['denyCacheMs', { denyCacheMs: 5 }, /no such option/],
    ['name', { name: 'żółw' }, /printable ASCII/],
    ['timeoutMs', { timeoutMs: 0.5 }, /integer from 1 to 60000/],
    ['onStoreFailure', { onStoreFailure: memory }, /RateLimiter/],
    ['instances', { instances: 0 }, /integer from 1/],
  ])('R34: a wrong option %s is refused at construction', (option, options, message) => {
    const make = () => fromFlexible(memory, options as FlexibleOptions)
    expect(make).toThrow(message)
    expect(make).toThrow(`fromFlexible: \`${option}\` must be `)
  })

  it('R34: leaves an even pace to the memory limiter', async () => {
    const limiter = fromFlexible(even)
    expect((await limiter.consume('ann')).allowed).toBe(true)
  })
})

function withoutNumbers(): unknown {
  const method = async () => ({})
  return { consume: method, get: method, reward: method, penalty: method, delete: method }
}
