import { randomUUID } from 'node:crypto'
import { createRateLimiter, fixedWindow, type RateLimiterOptions, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { command, fields } from '../support/command.ts'
import { RedisServer } from '../support/redis-server.ts'
import { cases, LONG_MS } from './rate-limit/cases.ts'
import { decide } from './rate-limit/rig.ts'

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

function limiter(policy: RateLimiterOptions['policy'], prefix = 'sluice', name = 'keys') {
  const store = redisStore(redis, { prefix })
  onTestFinished(() => store.close())
  const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
  return createRateLimiter({ name, policy, store, ...options })
}

async function keys(): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => !key.includes(':probe'))
}

describe('a store in Redis', () => {
  test('R2: decides any number of policies in one round trip', async () => {
    const limits = limiter(cases.map(({ policy }, index) => policy(100, LONG_MS, `p${index}`)))
    await decide(limits, 'a') // introduces the script
    await redis.config('RESETSTAT')
    for (let call = 0; call < 5; call++) await decide(limits, 'a')
    const stats = fields(await redis.info('commandstats'))
    expect(stats['cmdstat_evalsha']).toMatch(/^calls=5,/)
    expect(stats['cmdstat_eval']).toBeUndefined()
    const clients = fields(await redis.info('stats'))
    // Five decisions, and the two commands that count them.
    expect(clients['total_commands_processed']).toBe(String(5 + 2 + scripted(stats)))
  })

  test('R10: all keys of a subject share one hash slot, whatever the subject holds', async () => {
    const all = cases.map(({ policy }, index) => policy(100, LONG_MS, `p${index} {}*`))
    for (const subject of ['a', '{x}y', '}{', 'a{', '\0', '\ud800', '*', 'x'.repeat(10_000)]) {
      await redis.flushall()
      await decide(limiter(all, 'sluice', 'keys {a}:*\n\0é\ud800'), subject)
      const found = await keys()
      expect(found).toHaveLength(cases.length)
      const tags = new Set(found.map((key) => /^[^{}]*\{([^{}]+)\}[^{}]*$/.exec(key)?.[1]))
      expect(tags.size).toBe(1)
      for (const key of found) {
        expect(key).toMatch(/^[\x21-\x7e]+$/)
        expect(key).not.toMatch(/[*?[\]\\]/)
        expect(key.length).toBeLessThan(700)
      }
    }
  })

  test('R11: stores of other prefixes, and of another key prefix of the client, share nothing', async () => {
    const policy = fixedWindow({ limit: 1, windowMs: LONG_MS })
    const prefixed = new Redis(server.port, { keyPrefix: 'app:' })
    const store = redisStore(prefixed, { prefix: 'sluice' })
    const limits = [
      limiter(policy, 'sluice'),
      limiter(policy, 'other'),
      limiter(policy, 'sluice:rate-limit'),
      createRateLimiter({ name: 'keys', policy, store }),
    ]
    for (const each of limits) expect(await decide(each, 'a')).toBe(true)
    for (const each of limits) expect(await decide(each, 'a')).toBe(false)
    expect(new Set((await keys()).map((key) => key.split(':rate-limit:{')[0]))).toEqual(
      new Set(['sluice', 'other', 'sluice:rate-limit', 'app:sluice']),
    )
    prefixed.disconnect()
  })
})

describe('a server that crashes in the middle of a load', () => {
  test('R6: comes back with a TTL on every key', async () => {
    await using durable = await RedisServer.start([
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
    ])
    const client = new Redis(durable.port, { maxRetriesPerRequest: 0 })
    client.on('error', () => {})
    const store = redisStore(client)
    const policy = cases.map(({ policy }, index) => policy(3, LONG_MS, `p${index}`))
    const limits = createRateLimiter({ name: 'load', policy, store, denyCacheMs: 0 })
    let decided = 0
    const load = Array.from({ length: 20 }, async () => {
      for (let source = 'store'; source === 'store'; decided++)
        ({ source } = await limits.consume(randomUUID().slice(0, 2)))
    })
    await expect.poll(() => decided).toBeGreaterThan(300)
    await durable.kill()
    await Promise.all(load)
    await durable.restart()
    const left = (await command(durable.port, 'KEYS', '*')) as string[]
    expect(left.length).toBeGreaterThan(cases.length)
    for (const key of left) expect(await command(durable.port, 'PTTL', key)).toBeGreaterThan(0)
    client.disconnect()
    await store.close()
  })
})

/** Commands that ran inside scripts. */
function scripted(stats: Record<string, string>): number {
  return Object.entries(stats)
    .filter(([name]) => !/^cmdstat_(evalsha|info|config)/.test(name))
    .reduce((all, [, counts]) => all + Number(/calls=(\d+)/.exec(counts)?.[1] ?? 0), 0)
}
