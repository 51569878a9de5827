import { fixedWindow, fromFlexible, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { frameworks, type Options, type TestApp } from '../e2e/frameworks.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import type { Site } from '../support/http.ts'

let prefixes = 0

describe.each(frameworks)('fromFlexible() in $name', (framework) => {
  let redis: Redis
  let app: TestApp

  beforeEach(() => {
    redis = new Redis(inject('redisPort'))
    app = framework.app()
  })

  afterEach(() => {
    redis.disconnect()
  })

  function engine(settings: { points: number; duration: number }): RateLimiterRedis {
    const keyPrefix = `flexible-http:${process.pid}:${Date.now()}:${++prefixes}`
    return new RateLimiterRedis({ storeClient: redis, keyPrefix, ...settings })
  }

  async function serving(options: Options, use: (site: Site) => Promise<void>): Promise<void> {
    app.limit({ key: () => 'ann', ...options })
    app.answer(({ decision }) => `${decision?.policy} by ${decision?.source}`)
    await using site = await app.serve()
    await use(site)
    expect(app.errors).toEqual([])
  }

  it('R34: decides, and tells the quota in the same fields and problem document', () => {
    const limiter = fromFlexible(engine({ points: 2, duration: 60 }), { name: 'search' })
    return serving({ limiter }, async (site) => {
      const first = await site.ask()
      expect(first).toMatchObject({ status: 200, body: 'search by store' })
      expect(first.headers['ratelimit-policy']).toBe('"search";q=2;w=60')
      expect(first.headers['ratelimit']).toBe('"search";r=1;t=60')
      await site.ask()
      const refused = await site.ask()
      expect(refused.status).toBe(429)
      expect(refused.headers['content-type']).toBe('application/problem+json')
      expect(JSON.parse(refused.body)).toMatchObject({
        status: 429,
        'violated-policies': ['search'],
      })
      expect(refused.headers['ratelimit']).toMatch(/^"search";r=0;t=(59|60)$/)
      expect(refused.headers['retry-after']).toMatch(/^(59|60)$/)
    })
  })

  it('R34: tells no window and no Retry-After of a quota that never comes back', async () => {
    const flexible = engine({ points: 1, duration: 0 })
    await serving({ limiter: fromFlexible(flexible, { name: 'trial' }) }, async (site) => {
      await site.ask()
      const refused = await site.ask()
      expect(refused.status).toBe(429)
      expect(refused.headers['ratelimit-policy']).toBe('"trial";q=1')
      expect(refused.headers['ratelimit']).toBe('"trial";r=0')
      expect(refused.headers).not.toHaveProperty('retry-after')
    })
    await flexible.delete('ann')
  })

  it('R25, R34: gives a cost back', async () => {
    const flexible = engine({ points: 5, duration: 60 })
    const limiter = fromFlexible(flexible)
    await serving({ limiter, cost: 3, refund: ({ status }) => status === 200 }, async (site) => {
      expect((await site.ask()).headers['ratelimit']).toMatch(/r=2;/)
      await eventually(async () => (await flexible.get('ann'))?.consumedPoints === 0)
    })
  })

  it('R32, R34: decides while the Redis of the limit is not there', async () => {
    const dead = new Redis(await freePort())
    dead.on('error', () => {})
    const meanwhile = new RateLimiterMemory({ points: 1, duration: 60 })
    const options: Options = {
      policy: fixedWindow({ limit: 100, windowMs: 60_000 }),
      store: redisStore(dead),
      timeoutMs: 50,
      onStoreFailure: fromFlexible(meanwhile, { name: 'meanwhile' }),
    }
    try {
      await serving(options, async (site) => {
        const first = await site.ask()
        expect(first).toMatchObject({ status: 200, body: 'meanwhile by local' })
        expect(first.headers['ratelimit-policy']).toBe('"meanwhile";q=1;w=60')
        expect((await site.ask()).status).toBe(429)
      })
    } finally {
      dead.disconnect()
    }
  })

  it('R31, R34: answers 503, never 429, when it is to close while its own store is gone', async () => {
    redis.disconnect()
    const limiter = fromFlexible(engine({ points: 100, duration: 60 }), {
      onStoreFailure: 'closed',
    })
    await serving({ limiter }, async (site) => {
      const reply = await site.ask()
      expect(reply.status).toBe(503)
      expect(reply.headers['retry-after']).toBe('1')
    })
  })
})
