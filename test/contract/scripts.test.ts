import { randomUUID } from 'node:crypto'
import { createRateLimiter, redisStore, type Store } from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { ClockedRedis } from './clocked-redis.ts'
import { cases } from './rate-limit/cases.ts'
import { passing } from './rate-limit/rig.ts'
import { rateLimitStoreContract } from './rate-limit-store.ts'

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())
let now = 1_800_000_000_000

function makeStore(): Store {
  const prefix = `scripts:${randomUUID()}`
  return redisStore(new ClockedRedis(redis, `${prefix}-books`, () => now), { prefix })
}

rateLimitStoreContract({
  name: 'the scripts in Redis, on a clock of the test',
  makeStore,
  advance: (ms) => {
    now += ms
  },
})

describe.each(cases)('$algorithm on a server whose clock is set back', ({ policy, fromIdle }) => {
  test.each([
    ['ten milliseconds', 10],
    ['an hour', 3_600_000],
    ['a hundred days', 8_640_000_000],
  ])('by %s: nobody is locked out until it catches up', async (_, backMs) => {
    const limiter = createRateLimiter({
      name: 'back',
      policy: policy(5, 60_000),
      store: makeStore(),
      denyCacheMs: 0,
    })
    expect(await passing(limiter, 'a', 20)).toBe(fromIdle(5))
    now -= backMs
    expect(await passing(limiter, 'a', 20)).toBeLessThanOrEqual(fromIdle(5))
    now += 2 * 60_000
    expect(await passing(limiter, 'a', 20)).toBe(fromIdle(5))
  })
})
