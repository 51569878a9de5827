import { fromFlexible, type RateLimiter, StoreUnavailableError } from '@sluice/core'
import { Redis } from 'ioredis'
import {
  type IRateLimiterRedisOptions,
  RateLimiterMemory,
  RateLimiterRedis,
} from 'rate-limiter-flexible'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RedisServer } from '../support/redis-server.ts'

let prefixes = 0
const freshPrefix = () => `flexible:${process.pid}:${Date.now()}:${++prefixes}`

describe.each(['ioredis', 'node-redis'])('RateLimiterRedis on %s', (client) => {
  let ioredis: Redis
  let storeClient: unknown
  let close: () => unknown
  let keyPrefix: string

  beforeAll(async () => {
    ioredis = new Redis(inject('redisPort'))
    const url = `redis://127.0.0.1:${inject('redisPort')}`
    const nodeRedis = client === 'node-redis' ? await createClient({ url }).connect() : undefined
    storeClient = nodeRedis ?? ioredis
    close = () => nodeRedis?.close()
  })

  afterAll(async () => {
    await close()
    ioredis.disconnect()
  })

  function make(options: { points: number; duration: number; blockDuration?: number }) {
    keyPrefix = freshPrefix()
    const useRedisPackage = client === 'node-redis'
    return new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix, ...options })
  }

  it('R5, R34: admits exactly its limit of many calls at once', async () => {
    const limiter = fromFlexible(make({ points: 7, duration: 60 }))
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.consume('ann')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(7)
    for (const { source, limit, remaining, retryAfterMs, allowed, resetMs } of decisions) {
      expect({ source, limit }).toEqual({ source: 'store', limit: 7 })
      expect(remaining).toBeGreaterThanOrEqual(0)
      expect(resetMs).toBeGreaterThan(50_000)
      expect(retryAfterMs).toBe(allowed ? 0 : resetMs)
    }
    expect((await limiter.consume('bob')).remaining).toBe(6)
  })

  it('R34: shares its count with the library, and with other processes through it', async () => {
    const flexible = make({ points: 3, duration: 60 })
    await flexible.consume('ann', 2)
    const limiter = fromFlexible(flexible)
    expect(await limiter.peek('ann', { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, remaining: 0 })
    await limiter.refund('ann', 1)
    expect(await flexible.get('ann')).toMatchObject({ consumedPoints: 2 })
    await limiter.reset('ann')
    expect(await flexible.get('ann')).toBeNull()
    expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 3, resetMs: 0 })
  })

  it('R8, R34: refund creates nothing and gives back no more than was spent', async () => {
    const flexible = make({ points: 3, duration: 60 })
    const limiter = fromFlexible(flexible)
    await limiter.refund('ann', 2)
    expect(await ioredis.exists(`${keyPrefix}:ann`)).toBe(0)
    await limiter.consume('ann')
    await Promise.all([limiter.refund('ann', 2), limiter.refund('ann', 1)])
    expect(await flexible.get('ann')).toMatchObject({ consumedPoints: 0 })
  })

  it('R34: waits as long as the library blocks', async () => {
    const limiter = fromFlexible(make({ points: 1, duration: 1, blockDuration: 3600 }))
    await limiter.consume('ann')
    const refused = await limiter.consume('ann')
    expect(refused).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 })
    const again = await limiter.consume('ann')
    expect(again.retryAfterMs).toBeGreaterThan(3_590_000)
    expect(again.retryAfterMs).toBeLessThanOrEqual(3_600_000)
  })

  it('R34: admits again when the window is over', async () => {
    const limiter = fromFlexible(make({ points: 1, duration: 1 }))
    await limiter.consume('ann')
    const refused = await limiter.consume('ann')
    expect(refused.retryAfterMs).toBeGreaterThan(0)
    expect(refused.retryAfterMs).toBeLessThanOrEqual(1000)
    await eventually(async () => (await limiter.peek('ann')).allowed)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'store' })
  })

  it('R34: knows a quota that never comes back', async () => {
    const limiter = fromFlexible(make({ points: 1, duration: 0 }))
    const never = Number.POSITIVE_INFINITY
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, resetMs: never })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: never })
    await ioredis.del(`${keyPrefix}:ann`)
  })

  it('R34: takes a value of another kind under its key for a failure, never for a refusal', async () => {
    const limiter = fromFlexible(make({ points: 1, duration: 0 }))
    await ioredis.lpush(`${keyPrefix}:ann`, 'not a count')
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'local' })
    await expect(limiter.peek('ann')).rejects.toThrow(StoreUnavailableError)
    await ioredis.del(`${keyPrefix}:ann`)
  })
})

describe('RateLimiterRedis with the default options of ioredis', () => {
  const TIMEOUT_MS = 300
  let server: RedisServer
  let redis: Redis
  let limiter: RateLimiter

  beforeAll(async () => {
    server = await RedisServer.start()
  })

  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  afterEach(() => {
    redis.disconnect()
  })

  function flexible(options: Partial<IRateLimiterRedisOptions> = {}): RateLimiterRedis {
    redis = new Redis(server.port)
    redis.on('error', () => {})
    const quota = { points: 100, duration: 60, keyPrefix: freshPrefix() }
    return new RateLimiterRedis({ storeClient: redis, ...quota, ...options })
  }

  /** Nothing but the process may decide now, and it lets everybody pass. */
  async function expectLocal(): Promise<void> {
    for (let call = 0; call < 8; call++)
      expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'local' })
    await expect(limiter.peek('ann')).rejects.toThrow(StoreUnavailableError)
    await expect(limiter.refund('ann', 1)).rejects.toThrow(StoreUnavailableError)
    await expect(limiter.reset('ann')).rejects.toThrow(StoreUnavailableError)
  }

  async function expectStore(): Promise<void> {
    await eventually(async () => (await limiter.consume('ann')).source === 'store')
    for (let call = 0; call < 3; call++)
      expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'store' })
  }

  it.each<[string, () => unknown, () => unknown]>([
    ['is gone', () => server.kill(), () => server.restart()],
    ['stands still', () => server.pause(), () => server.resume()],
    [
      'is a replica that takes no writes',
      () => server.command('REPLICAOF', '127.0.0.1', '1'),
      () => server.command('REPLICAOF', 'NO', 'ONE'),
    ],
    [
      'is out of memory',
      () => server.command('CONFIG', 'SET', 'maxmemory', '1'),
      () => server.command('CONFIG', 'SET', 'maxmemory', '0'),
    ],
  ])(
    'R31, R32, R34: is replaced by the process within the deadline while Redis %s, and heals',
    async (_what, harm, heal) => {
      limiter = fromFlexible(flexible(), { timeoutMs: TIMEOUT_MS })
      await expectStore()
      await harm()
      await expectLocal()
      await heal()
      await expectStore()
    },
  )

  it('R30, R34: is used as soon as a Redis that was absent at the start is there', async () => {
    await server.kill()
    limiter = fromFlexible(flexible(), { timeoutMs: TIMEOUT_MS })
    await expectLocal()
    await server.restart()
    await expectStore()
  })

  it('R31, R34: loses no call when the scripts are flushed', async () => {
    limiter = fromFlexible(flexible())
    expect(await limiter.consume('ann')).toMatchObject({ remaining: 99, source: 'store' })
    await server.command('SCRIPT', 'FLUSH')
    expect(await limiter.consume('ann')).toMatchObject({ remaining: 98, source: 'store' })
  })

  it('R34: leaves failures to its own insurance, where it has one', async () => {
    await server.kill()
    const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 })
    limiter = fromFlexible(flexible({ insuranceLimiter, rejectIfRedisNotReady: true }), {
      onStoreFailure: 'closed',
    })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 100, remaining: 0 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, source: 'store' })
    await server.restart()
    await eventually(async () => (await limiter.consume('ann')).remaining > 0)
  })

  it('R32, R34: hands over to a limiter of the library in memory', async () => {
    await server.kill()
    const target = fromFlexible(new RateLimiterMemory({ points: 1, duration: 60 }))
    limiter = fromFlexible(flexible(), { timeoutMs: TIMEOUT_MS, onStoreFailure: target })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 1, source: 'local' })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, source: 'local' })
    await server.restart()
    await expectStore()
  })
})
