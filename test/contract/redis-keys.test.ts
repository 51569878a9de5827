import { createRateLimiter, type RateLimiterOptions, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { RedisServer } from '../support/redis-server.ts'
import { cases, LONG_MS } from './rate-limit/cases.ts'
import { decide, spend } from './rate-limit/rig.ts'
import { serverClock } from './server-clock.ts'

// What the store leaves on a real server, looked at from outside: keys, their TTLs, their bytes.

let server: RedisServer
let redis: Redis

beforeAll(async () => {
  server = await RedisServer.start()
  redis = new Redis(server.port)
  return async () => {
    redis.disconnect()
    await server[Symbol.asyncDispose]()
  }
})

beforeEach(async () => {
  await redis.flushall()
})

function limiter(policy: RateLimiterOptions['policy']) {
  const store = redisStore(redis)
  onTestFinished(() => store.close())
  const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
  return createRateLimiter({ name: 'keys', policy, store, ...options })
}

async function keys(): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => !key.includes(':probe')).sort()
}

/** Keys that will stay for ever. */
async function eternal(): Promise<string[]> {
  const found: string[] = []
  for (const key of await redis.keys('*')) if ((await redis.pttl(key)) === -1) found.push(key)
  return found
}

/** All that a key is: its bytes, and to the millisecond when it ends. */
async function everything(): Promise<readonly unknown[]> {
  const all = (await keys()).map((key) =>
    Promise.all([key, redis.dumpBuffer(key), redis.call('PEXPIRETIME', key)]),
  )
  return Promise.all(all)
}

describe.each(cases)('$algorithm', ({ policy, fromIdle, resetMs }) => {
  test('R6: no call leaves a key without a TTL', async () => {
    const limits = limiter([policy(4, LONG_MS, 'one'), policy(9, 2 * LONG_MS, 'two')])
    const calls = [
      () => limits.consume('a'),
      () => limits.consume('a', { cost: 3 }),
      () => limits.consume('a', { cost: 3 }),
      () => limits.consume('b', { cost: 99 }),
      () => limits.refund('a', 1),
      () => limits.consume('a'),
      () => limits.peek('a'),
      () => limits.peek('c'),
      () => limits.refund('c', 1),
    ]
    for (const call of calls) {
      await call()
      expect(await eternal()).toEqual([])
    }
    expect(await keys()).toHaveLength(2)
  })

  test('R6: a lost TTL is back after the next call, whichever it is', async () => {
    const limits = limiter(policy(4, LONG_MS))
    await spend(limits, 'a', 2)
    const calls = [
      () => decide(limits, 'a'),
      () => decide(limits, 'a', 4),
      () => decide(limits, 'a', 5),
      () => limits.refund('a', 1),
    ]
    for (const call of calls) {
      for (const key of await keys()) await redis.persist(key)
      expect(await eternal()).toHaveLength(1)
      await call()
      expect(await eternal()).toEqual([])
      expect(await keys()).toHaveLength(1)
    }
  })

  test('R6: a counter that lost its TTL gives the quota back after a window all the same', async () => {
    const limits = limiter(policy(4, 50))
    await spend(limits, 'a', fromIdle(4))
    const [key = ''] = await keys()
    await redis.persist(key)
    const mostMs = Math.ceil((resetMs(50) * fromIdle(4)) / 4)
    for (let leftMs = Infinity; leftMs > 0; leftMs = (await limits.consume('a')).retryAfterMs)
      expect(await redis.pttl(key)).toBeLessThanOrEqual(mostMs)
  })

  test('R6: a refusal heals a key that has outlived what it counted', async () => {
    await spend(limiter(policy(4, 20)), 'a', 2)
    const [key = ''] = await keys()
    await redis.persist(key)
    const closed = limiter(policy(0, 20))
    await serverClock(redis).advance(60)
    expect(await decide(closed, 'a')).toBe(false)
    expect(await eternal()).toEqual([])
  })

  test.each([
    ['text', (key: string) => redis.set(key, 'not ours')],
    ['a fraction', (key: string) => redis.set(key, '1.5')],
    ['a list', (key: string) => redis.rpush(key, 'not', 'ours')],
    ['a hash', (key: string) => redis.hset(key, 'not', 'ours')],
  ])('R6: a key that holds %s instead heals', async (_, spoil) => {
    const limits = limiter(policy(4, LONG_MS))
    await decide(limits, 'a')
    const [key = ''] = await keys()
    await redis.del(key)
    await spoil(key)
    expect((await limits.peek('a')).remaining).toBe(4)
    expect(await decide(limits, 'a', 4)).toBe(true)
    expect(await decide(limits, 'a', 4)).toBe(false)
    expect(await eternal()).toEqual([])
    await redis.del(key)
    await spoil(key)
    await limits.refund('a', 1)
    expect(await decide(limits, 'a')).toBe(true)
    expect(await eternal()).toEqual([])
  })

  test('R7: the TTL is as long as the window, to the millisecond, from 1 ms to ten years', async () => {
    for (const windowMs of [1000, 59_999, 60_000, 60_001, 3_653 * 86_400_000]) {
      await limiter(policy(4, windowMs, 'w')).consume('a', { cost: 4 })
      const [key = ''] = await keys()
      const leftMs = await redis.pttl(key)
      expect(leftMs).toBeLessThanOrEqual(resetMs(windowMs))
      expect(leftMs).toBeGreaterThan(resetMs(windowMs) - 500)
      await redis.flushall()
    }
  })

  test('R7: a subject whose quota is back leaves no key behind', async () => {
    const limits = limiter(policy(4, 5))
    await decide(limits, 'a', 4)
    const endsAt = Number(await redis.call('PEXPIRETIME', (await keys())[0] ?? ''))
    const clock = serverClock(redis)
    await clock.advance(endsAt + 1 - (await clock.now()))
    expect(await keys()).toEqual([])
  })

  test('R8: a refund creates no key, and takes away the one that counts nothing any more', async () => {
    const limits = limiter(policy(4, LONG_MS))
    await limits.refund('a', 3)
    expect(await keys()).toEqual([])
    await spend(limits, 'a', 3)
    await limits.refund('a', 3)
    expect(await keys()).toEqual([])
  })

  test('R1, R9: neither peek nor a refusal changes a byte or a TTL', async () => {
    const limits = limiter([policy(4, LONG_MS, 'one'), policy(90, LONG_MS, 'two')])
    await spend(limits, 'a', fromIdle(4))
    const before = await everything()
    expect(before).toHaveLength(2)
    for (let look = 0; look < 100; look++) {
      await limits.peek('a')
      await limits.peek('a', { cost: 2 })
      await limits.peek('b')
      expect(await decide(limits, 'a')).toBe(false)
    }
    expect(await everything()).toEqual(before)
  })

  test('R9: peek works after SCRIPT FLUSH, and so does every other call', async () => {
    const limits = limiter(policy(4, LONG_MS))
    await spend(limits, 'a', 2)
    await redis.script('FLUSH')
    expect((await limits.peek('a')).remaining).toBe(Math.min(4, fromIdle(4) - 2))
    await redis.script('FLUSH')
    expect(await decide(limits, 'a')).toBe(true)
    await redis.script('FLUSH')
    await limits.refund('a', 3)
    expect((await limits.peek('a')).remaining).toBe(4)
  })
})
