import {
  fixedWindow,
  leakyBucket,
  type Policy,
  redisStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { ClockedRedis } from '../contract/clocked-redis.ts'

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())

describe('a sliding log in Redis', () => {
  const LIMIT = 10_000
  const WINDOW_MS = 60_000
  /** Binary searches of the log, three a call, and a few commands for the rest. */
  const MOST_COMMANDS = 3 * 2 * Math.ceil(Math.log2(LIMIT)) + 10

  /** A log of 10,000 entries, sixteen at a time. */
  async function fullLog() {
    const prefix = `sliding-log:${crypto.randomUUID()}`
    const clock = { now: 1_800_000_000_000 }
    const client = new ClockedRedis(redis, `${prefix}-books`, () => clock.now)
    const store = redisStore(client, { prefix }).rateLimit
    const quota = { name: 'default', policies: [slidingLog({ limit: LIMIT, windowMs: WINDOW_MS })] }
    const consume = () => store.consume(quota, 'subject', 1)
    for (let index = 0; index < LIMIT; index += 16) {
      await Promise.all(Array.from({ length: Math.min(16, LIMIT - index) }, consume))
      clock.now += 16
    }
    const [key = ''] = await redis.keys(`${prefix}:*`)
    await client.commands()
    return { clock, client, consume, store, quota, length: () => redis.llen(key) }
  }

  test('removes at most 64 entries in one call, and reads few, when nearly all leave the window at once', async () => {
    const { clock, client, consume, length } = await fullLog()
    clock.now += WINDOW_MS - 100
    for (let before = await length(); before > 400; ) {
      const [standing] = await consume()
      const after = await length()
      expect(standing).toMatchObject({ allowed: true })
      expect(after).toBeLessThan(before)
      expect(after).toBeGreaterThanOrEqual(before + 1 - 64)
      expect(await client.commands()).toBeLessThan(MOST_COMMANDS)
      before = after
    }
    await client.clear()
  })

  test('reads few entries to refuse, however many it holds', async () => {
    const { client, consume } = await fullLog()
    const [standing] = await consume()
    expect(standing).toMatchObject({ allowed: false, remaining: 0 })
    expect(await client.commands()).toBeLessThan(MOST_COMMANDS)
    await client.clear()
  })

  test('takes back at most 64 entries in one call', async () => {
    const { client, store, quota, length } = await fullLog()
    const lengths = [await length()]
    const call = client.call.bind(client)
    client.call = async (...command) => {
      const reply = await call(...command)
      lengths.push(await length())
      return reply
    }
    await store.refund(quota, 'subject', 1000)
    expect(lengths.at(-1)).toBe((lengths[0] ?? 0) - 1000)
    for (const [index, length] of lengths.slice(1).entries())
      expect(length).toBeGreaterThanOrEqual((lengths[index] ?? 0) - 64)
    await client.clear()
  })

  test('holds 1,000 requests in at most 12 bytes each', async () => {
    const bytes = await bytesOf(slidingLog({ limit: 1000, windowMs: 3_600_000 }), 1000)
    expect(bytes).toBeLessThanOrEqual(12 * 1000)
  })
})

describe('a subject in Redis', () => {
  test.each([
    fixedWindow({ limit: 1_000_000, windowMs: 3_600_000 }),
    slidingWindow({ limit: 1_000_000, windowMs: 3_600_000 }),
    tokenBucket({ capacity: 1_000_000, refill: 1, refillMs: 1000 }),
    leakyBucket({ capacity: 1_000_000, drain: 1, drainMs: 1000 }),
  ])(
    'under a $algorithm costs at most 16 bytes more than a plain counter with a TTL',
    async (policy) => {
      const counter = `counter:${crypto.randomUUID()}:rate-limit:{subject}f`
      await redis.set(counter, 100, 'PX', 60_000)
      const plain = Number(await redis.memory('USAGE', counter))
      expect(await bytesOf(policy, 100)).toBeLessThanOrEqual(plain + 16)
    },
  )
})

/** What a key costs after so many requests. */
async function bytesOf(policy: Policy, requests: number): Promise<number> {
  const prefix = `bytes:${crypto.randomUUID()}`
  const store = redisStore(redis, { prefix })
  const quota = { name: 'default', policies: [policy] }
  const calls = Array.from({ length: requests }, () => store.rateLimit.consume(quota, 'subject', 1))
  const standings = await Promise.all(calls)
  expect(standings.every(([standing]) => standing?.allowed)).toBe(true)
  const [key = ''] = await redis.keys(`${prefix}:*`)
  const bytes = Number(await redis.memory('USAGE', key, 'SAMPLES', 0))
  await redis.del(key)
  await store.close()
  return bytes
}
