import {
  createRateLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  type Policy,
  type RateLimiter,
  redisStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { connected, ioredis } from './clients.ts'
import { inTime } from './modes.ts'
import { place } from './outages.ts'

const HOUR_MS = 3_600_000
const LIMIT = 10
const policies: readonly Policy[] = [
  fixedWindow({ limit: LIMIT, windowMs: HOUR_MS }),
  slidingWindow({ limit: LIMIT, windowMs: HOUR_MS }),
  slidingLog({ limit: LIMIT, windowMs: HOUR_MS }),
  tokenBucket({ capacity: LIMIT, refill: LIMIT, refillMs: HOUR_MS }),
  leakyBucket({ capacity: LIMIT, drain: LIMIT, drainMs: HOUR_MS }),
]
/** From idle, a leaky bucket lets one call pass beside those that wait in line. */
const more = (policy: Policy) => (policy.algorithm === 'leaky-bucket' ? 1 : 0)

describe.each(policies)('a process without its Redis, with a $name', (policy) => {
  test('R32: keeps to its part of the quota, and to the whole of it when Redis returns', async () => {
    await using at = await place()
    await using client = await connected(ioredis, at.link.port)
    const store = redisStore(client.redis)
    const limiter = createRateLimiter({ store, policy, instances: 4, name: 'four' })
    const alone = createRateLimiter({ store, policy, name: 'alone' })
    expect(await limiter.consume('k', { cost: 2 })).toMatchObject({ source: 'store', limit: LIMIT })
    at.link.refuse()
    at.link.cut()

    // A quarter of ten, rounded up. What Redis knows to be spent is not known here.
    const share = Math.ceil(LIMIT / 4) + more(policy)
    const decisions = await consume(limiter, share + 3)
    expect(decisions.map(({ allowed }) => allowed)).toEqual([
      ...Array(share).fill(true),
      ...Array(3).fill(false),
    ])
    for (const decision of decisions) expect(decision).toMatchObject({ source: 'local', limit: 3 })
    expect((await limiter.consume('other')).allowed).toBe(true)
    const whole = await consume(alone, LIMIT + 3)
    expect(whole.filter(({ allowed }) => allowed)).toHaveLength(LIMIT + more(policy))

    await at.link.accept()
    await eventually(() => client.isReady(), { withinMs: 20_000 })
    await eventually(async () => (await limiter.consume('later')).source === 'store', {
      withinMs: 1000,
    })
    // What was refused here is admitted there, and what was sent before the circuit opened has been spent there.
    const back = await limiter.consume('k')
    expect(back).toMatchObject({ source: 'store', limit: LIMIT, allowed: true })
  })
})

describe('a limiter to fall back on', () => {
  const policy = fixedWindow({ limit: LIMIT, windowMs: HOUR_MS })
  const spare = (limit: number) =>
    createRateLimiter({ name: 'spare', policy: fixedWindow({ limit, windowMs: HOUR_MS }) })

  test('R32: decides with its own quota until Redis returns', async () => {
    await using at = await place()
    await using client = await connected(ioredis, at.link.port)
    const store = redisStore(client.redis)
    const limiter = createRateLimiter({ store, policy, onStoreFailure: spare(2) })
    expect(await limiter.consume('k')).toMatchObject({ source: 'store' })
    at.link.stall()
    const decisions = await consume(limiter, 6)
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, ...Array(4).fill(false)])
    for (const decision of decisions) expect(decision).toMatchObject({ source: 'local', limit: 2 })
    at.link.resume()
    await eventually(async () => (await limiter.consume('later')).source === 'store', {
      withinMs: 1000,
    })
    expect(await limiter.consume('k')).toMatchObject({
      source: 'store',
      limit: LIMIT,
      allowed: true,
    })
  })

  test('R32: may have a store of its own, and modes of its own when that fails too', async () => {
    await using at = await place()
    await using spareAt = await place()
    await using client = await connected(ioredis, at.link.port)
    await using spareClient = await connected(ioredis, spareAt.link.port)
    const second = (onStoreFailure: 'open' | 'closed' | 'local') =>
      createRateLimiter({
        name: onStoreFailure,
        store: redisStore(spareClient.redis),
        policy,
        onStoreFailure,
      })
    const store = redisStore(client.redis)
    const limiters = (['open', 'closed', 'local'] as const).map((mode) =>
      createRateLimiter({ name: `first of ${mode}`, store, policy, onStoreFailure: second(mode) }),
    )
    const sources = async () => {
      const decisions = await Promise.all(limiters.map((limiter) => inTime(limiter.consume('k'))))
      return decisions.map(({ source }) => source)
    }
    expect(await sources()).toEqual(['store', 'store', 'store'])
    at.server.pause()
    expect(await sources()).toEqual(['local', 'local', 'local'])
    spareAt.server.pause()
    expect(await sources()).toEqual(['open', 'closed', 'local'])
  })

  test.each([
    ['fails in its own way', () => Promise.reject(new Error('ECONNREFUSED'))],
    [
      'throws',
      () => {
        throw new Error('a defect')
      },
    ],
  ])('R32: leaves the decision to this process when it %s', async (_how, consume) => {
    await using at = await place()
    await using client = await connected(ioredis, at.link.port)
    const broken: RateLimiter = {
      ...spare(1),
      name: 'broken',
      policies: [policy],
      consume,
      peek: consume,
      refund: consume,
      reset: consume,
    }
    const limiter = createRateLimiter({
      store: redisStore(client.redis),
      policy,
      onStoreFailure: broken,
    })
    expect(await limiter.consume('k')).toMatchObject({ source: 'store' })
    at.server.pause()
    expect(await inTime(limiter.consume('k'))).toMatchObject({
      source: 'local',
      limit: LIMIT,
      allowed: true,
    })
  })
})

/** One after the other, and all in time. */
async function consume(limiter: RateLimiter, times: number): Promise<readonly Decision[]> {
  const first = await Promise.all(Array.from({ length: times }, () => inTime(limiter.consume('k'))))
  return first
}
