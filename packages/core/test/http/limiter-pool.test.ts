import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LimiterPool } from '../../src/http/limiter-pool.ts'
import {
  ConfigurationError,
  createRateLimiter,
  fixedWindow,
  memoryStore,
  type RedisClient,
  redisStore,
  type Store,
  slidingLog,
} from '../../src/index.ts'

const plan = (limit: number, name = 'plan') => fixedWindow({ name, limit, windowMs: 60_000 })

describe('the limiters of a route whose policies depend on the request', () => {
  it('are one for equal policies, however often they are made', () => {
    const pool = new LimiterPool({})
    expect(pool.limiterFor(plan(5))).toBe(pool.limiterFor([plan(5)]))
  })

  it('are different ones for policies that differ in anything', () => {
    const pool = new LimiterPool({})
    const policies = [
      plan(5),
      plan(6),
      plan(5, 'other'),
      fixedWindow({ name: 'plan', limit: 5, windowMs: 60_001 }),
      slidingLog({ name: 'plan', limit: 5, windowMs: 60_000 }),
      [plan(5), plan(6, 'other')],
      [plan(6, 'other'), plan(5)],
    ]
    expect(new Set(policies.map((policy) => pool.limiterFor(policy))).size).toBe(policies.length)
  })

  it('R11: share what was spent, though each has its own limit', async () => {
    const pool = new LimiterPool({})
    await pool.limiterFor(plan(5)).consume('ann', { cost: 3 })
    expect(await pool.limiterFor(plan(10)).consume('ann')).toMatchObject({ remaining: 6 })
    expect(await pool.limiterFor(plan(4)).consume('ann')).toMatchObject({ allowed: false })
  })

  it('R32: share what was spent without their store too', async () => {
    const pool = new LimiterPool({ store: brokenStore() })
    await pool.limiterFor(plan(5)).consume('ann', { cost: 3 })
    const decision = { source: 'local', remaining: 6 }
    expect(await pool.limiterFor(plan(10)).consume('ann')).toMatchObject(decision)
    expect(await pool.limiterFor(plan(4)).consume('ann')).toMatchObject({ allowed: false })
  })

  it('are bounded: of a thousand, the one asked for longest ago goes, and its quota stays', async () => {
    const pool = new LimiterPool({})
    const used = pool.limiterFor(plan(1))
    const idle = pool.limiterFor(plan(2))
    await idle.consume('ann')
    for (let limit = 3; limit <= 1001; limit++) {
      pool.limiterFor(plan(limit))
      expect(pool.limiterFor(plan(1))).toBe(used)
    }
    const again = pool.limiterFor(plan(2))
    expect(again).not.toBe(idle)
    expect(await again.peek('ann')).toMatchObject({ remaining: 1 })
  })

  it('cannot be made of a store that cannot limit rates', () => {
    const masters = [1, 2, 3].map((port) => new Redis(port, { lazyConnect: true }))
    const store = redisStore(masters)
    expect(() => new LimiterPool({ store })).toThrow(ConfigurationError)
  })
})

/** A Redis store whose client throws, though it should reject. */
function brokenStore(): Store {
  const call = () => {
    throw new Error('down')
  }
  const client: unknown = { call, pipeline: call, on: () => {}, off: () => {} }
  return redisStore(client as RedisClient)
}

describe('R11: the warning of two limiters without a name', () => {
  let warnings: Error[]
  const collect = (warning: Error) => void warnings.push(warning)

  beforeEach(() => {
    warnings = []
    process.on('warning', collect)
  })

  afterEach(() => {
    process.off('warning', collect)
  })

  const nextTick = () => new Promise((resolve) => setImmediate(resolve))

  it('does not come for the policies of one route', async () => {
    const pool = new LimiterPool({ store: memoryStore() })
    for (const limit of [1, 2, 3, 4]) pool.limiterFor(plan(limit))
    await nextTick()
    expect(warnings).toEqual([])
  })

  it('comes once for two routes', async () => {
    const store = memoryStore()
    createRateLimiter({ policy: plan(1), store })
    const pool = new LimiterPool({ store })
    for (const limit of [1, 2, 3, 4]) pool.limiterFor(plan(limit))
    await nextTick()
    expect(warnings).toMatchObject([{ code: 'SLUICE_UNNAMED_LIMITERS' }])
  })
})
