import { setImmediate as turn } from 'node:timers/promises'
import {
  createRateLimiter,
  fixedWindow,
  memoryStore,
  type RateLimiter,
  type RateLimiterOptions,
  redisStore,
  type Store,
  tokenBucket,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fields } from '../support/command.ts'
import { RedisServer } from '../support/redis-server.ts'
import { LONG_MS } from './rate-limit/cases.ts'

let server: RedisServer
let redis: Redis
let store: Store

beforeAll(async () => {
  server = await RedisServer.start()
  redis = new Redis(server.port)
  store = redisStore(redis)
  return async () => {
    await store.close()
    redis.disconnect()
    await server[Symbol.asyncDispose]()
  }
})

beforeEach(async () => {
  await redis.flushall()
  await redis.config('RESETSTAT')
})

function limiter(
  policy: RateLimiterOptions['policy'],
  options: Partial<RateLimiterOptions> = {},
): RateLimiter {
  return createRateLimiter({ name: 'denied', policy, store, timeoutMs: 10_000, ...options })
}

/** How often Redis was asked for a decision since the last look. */
async function asked(): Promise<number> {
  const stats = fields(await redis.info('commandstats'))
  await redis.config('RESETSTAT')
  const calls = (command: string) =>
    Number(/calls=(\d+)/.exec(stats[`cmdstat_${command}`] ?? '')?.[1] ?? 0)
  return calls('eval') + calls('evalsha') + calls('increx')
}

async function exhausted(limits: RateLimiter): Promise<void> {
  expect(await limits.consume('a', { cost: 1 })).toMatchObject({ allowed: true })
  expect(await limits.consume('a')).toMatchObject({ allowed: false, source: 'store' })
  await asked()
}

const makingRoom: readonly (readonly [string, (limits: RateLimiter) => Promise<void>])[] = [
  ['refund', (limits) => limits.refund('a', 1)],
  ['reset', (limits) => limits.reset('a')],
]
const oneAnHour = fixedWindow({ limit: 1, windowMs: LONG_MS })

describe('R13: a refusal', () => {
  test('is remembered in the process, for its subject: Redis is not asked again', async () => {
    const limits = limiter(oneAnHour, { denyCacheMs: 60_000 })
    await exhausted(limits)
    for (let call = 0; call < 1000; call++)
      expect(await limits.consume('a')).toMatchObject({ allowed: false, source: 'cache' })
    expect(await asked()).toBe(0)
    expect(await limits.consume('b')).toMatchObject({ allowed: true, source: 'store' })
  })

  test('is remembered for denyCacheMs, 1000 if nothing else is said, and no longer', async () => {
    for (const denyCacheMs of [undefined, 100]) {
      await redis.flushall()
      const limits = limiter(oneAnHour, denyCacheMs === undefined ? {} : { denyCacheMs })
      await limits.consume('a')
      const askedAt = performance.now()
      await limits.consume('a')
      const answeredAt = performance.now()
      await untilAskedAgain(limits, askedAt, answeredAt, denyCacheMs ?? 1000)
    }
  })

  test('is remembered until the moment the store named, when that comes first', async () => {
    const limits = limiter(fixedWindow({ limit: 1, windowMs: 80 }))
    await limits.consume('a')
    const askedAt = performance.now()
    const { retryAfterMs } = await limits.consume('a')
    const answeredAt = performance.now()
    expect(retryAfterMs).toBeLessThanOrEqual(80)
    await untilAskedAgain(limits, askedAt, answeredAt, retryAfterMs)
  })

  test('is not remembered with denyCacheMs 0', async () => {
    const limits = limiter(oneAnHour, { denyCacheMs: 0 })
    await exhausted(limits)
    for (let call = 0; call < 20; call++)
      expect(await limits.consume('a')).toMatchObject({ allowed: false, source: 'store' })
    expect(await asked()).toBe(20)
  })

  test('is not remembered of a store in the process', async () => {
    const limits = limiter(oneAnHour, { store: memoryStore() })
    await limits.consume('a')
    for (let call = 0; call < 3; call++)
      expect(await limits.consume('a')).toMatchObject({ allowed: false, source: 'store' })
  })

  test('knows its cost: a smaller one still asks the store, and may pass', async () => {
    const limits = limiter(fixedWindow({ limit: 10, windowMs: LONG_MS }))
    await limits.consume('a', { cost: 8 })
    for (const source of ['store', 'cache'])
      expect(await limits.consume('a', { cost: 5 })).toMatchObject({ allowed: false, source })
    expect(await limits.consume('a', { cost: 2 })).toMatchObject({ allowed: true, source: 'store' })
  })

  test('knows its cost: a larger one gets a true wait of its own', async () => {
    const limits = limiter(tokenBucket({ capacity: 10, refill: 1, refillMs: LONG_MS }))
    await limits.consume('a', { cost: 10 })
    for (const source of ['store', 'cache']) {
      const waits = [2, 5, 9].map((cost) => limits.consume('a', { cost }))
      for (const [index, decision] of (await Promise.all(waits)).entries()) {
        const hours = [2, 5, 9][index] ?? 0
        expect(decision).toMatchObject({ allowed: false, source })
        expect(Math.ceil(decision.retryAfterMs / LONG_MS)).toBe(hours)
      }
    }
    expect(await limits.consume('a', { cost: 11 })).toMatchObject({ retryAfterMs: Infinity })
  })

  test('knows its policy: a changed limit asks again', async () => {
    await exhausted(limiter(oneAnHour))
    const raised = limiter(fixedWindow({ limit: 2, windowMs: LONG_MS }))
    expect(await raised.consume('a')).toMatchObject({ allowed: true, source: 'store' })
    expect(await raised.consume('a')).toMatchObject({ allowed: false, source: 'store' })
  })

  test.each(makingRoom)('is forgotten by a %s', async (_, makeRoom) => {
    const limits = limiter(oneAnHour, { denyCacheMs: 60_000 })
    await exhausted(limits)
    expect(await limits.consume('a')).toMatchObject({ source: 'cache' })
    await makeRoom(limits)
    expect(await limits.consume('a')).toMatchObject({ allowed: true, source: 'store' })
  })

  test.each(makingRoom)('is not told any more while a %s is under way', async (_, makeRoom) => {
    const limits = limiter(oneAnHour, { denyCacheMs: 60_000 })
    await exhausted(limits)
    const [, decision] = await Promise.all([makeRoom(limits), limits.consume('a')])
    expect(decision).toMatchObject({ allowed: true, source: 'store' })
  })

  test.each(makingRoom)('that was under way during a %s is not remembered', async (_, makeRoom) => {
    const limits = limiter(oneAnHour, { denyCacheMs: 60_000 })
    await exhausted(limits)
    const calls = Array.from({ length: 40 }, (_, index) =>
      limits.consume('a', { cost: 1 + (index % 2) }),
    )
    await Promise.all([...calls, makeRoom(limits)])
    expect(await limits.consume('a')).toMatchObject({ allowed: true, source: 'store' })
  })

  test('is told as it stands now, when it is told again', async () => {
    const limits = limiter(fixedWindow({ limit: 1, windowMs: 5000 }), { denyCacheMs: 60_000 })
    await limits.consume('a')
    const first = await limits.consume('a')
    const answeredAt = performance.now()
    const [state] = first.policies
    let elapsedMs = 0
    while (elapsedMs < 100) {
      await turn()
      elapsedMs = performance.now() - answeredAt
      const { source, retryAfterMs, resetMs, policies } = await limits.consume('a')
      const latestMs = performance.now() - answeredAt
      expect(source).toBe('cache')
      for (const [was, is] of [
        [first.retryAfterMs, retryAfterMs],
        [first.resetMs, resetMs],
        [state?.nextMs ?? 0, policies[0]?.nextMs ?? 0],
      ] as const) {
        expect(is).toBeLessThanOrEqual(Math.ceil(was - elapsedMs) + 1)
        expect(is).toBeGreaterThanOrEqual(Math.floor(was - latestMs) - 1)
      }
    }
  })

  test('R4: names a wait that is long enough, though its answer was long on the way', async () => {
    const limits = limiter(fixedWindow({ limit: 1, windowMs: 60_000 }))
    await limits.consume('a')
    server.pause()
    const refusing = limits.consume('a')
    const askedAt = performance.now()
    while (performance.now() < askedAt + 150) await turn()
    server.resume()
    const refused = await refusing
    const answeredAt = performance.now()
    const again = await limits.consume('a')
    const sinceMs = performance.now() - answeredAt
    expect([refused.source, again.source]).toEqual(['store', 'cache'])
    expect(again.retryAfterMs).toBeGreaterThanOrEqual(refused.retryAfterMs - sinceMs - 1)
  })
})

test('R13: under attack from one key, by one caller or by fifty, a process asks Redis a few times a second', async () => {
  for (const callers of [1, 50]) {
    await redis.flushall()
    const limits = limiter(fixedWindow({ limit: 5, windowMs: LONG_MS }))
    await limits.consume('a', { cost: 5 })
    await asked()
    const startedAt = performance.now()
    let refusals = 0
    const attack = async () => {
      while (performance.now() < startedAt + 2200) {
        await limits.consume('a')
        refusals++
        await turn()
      }
    }
    await Promise.all(Array.from({ length: callers }, attack))
    expect(refusals).toBeGreaterThan(1000)
    // At once, and after each second. Of callers of one moment the first travels alone, the others in batches of sixteen.
    const times = 1 + Math.floor((performance.now() - startedAt) / 1000)
    expect(await asked()).toBeLessThanOrEqual(times * (1 + Math.ceil((callers - 1) / 16)))
  }
})

/** Asks until the store decides, which must not be so before `lastsMs` are over, and must be so after that. */
async function untilAskedAgain(
  limits: RateLimiter,
  askedAt: number,
  answeredAt: number,
  lastsMs: number,
): Promise<void> {
  for (;;) {
    const before = performance.now()
    const decision = await limits.consume('a')
    const after = performance.now()
    if (after < askedAt + lastsMs) expect(decision.source).toBe('cache')
    if (before > answeredAt + lastsMs) expect(decision.source).toBe('store')
    if (decision.source === 'store') return
    await turn()
  }
}
