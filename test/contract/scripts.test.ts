import { randomUUID } from 'node:crypto'
import { redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, inject } from 'vitest'
import { ClockedRedis } from './clocked-redis.ts'
import { rateLimitStoreContract } from './rate-limit-store.ts'

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())
let now = 1_800_000_000_000

rateLimitStoreContract({
  name: 'the scripts in Redis, on a clock of the test',
  makeStore() {
    const prefix = `scripts:${randomUUID()}`
    return redisStore(new ClockedRedis(redis, `${prefix}-books`, () => now), { prefix })
  },
  advance: (ms) => {
    now += ms
  },
})
