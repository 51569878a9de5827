import { randomUUID } from 'node:crypto'
import { redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, inject } from 'vitest'
import { rateLimitStoreContract } from './rate-limit-store.ts'
import { serverClock } from './server-clock.ts'

const port = inject('redisPort')
const ioredis = new Redis(port)
const nodeRedis = createClient({ socket: { host: '127.0.0.1', port } })
beforeAll(async () => {
  await nodeRedis.connect()
})
afterAll(async () => {
  ioredis.disconnect()
  nodeRedis.destroy()
})

rateLimitStoreContract({
  name: 'Redis by ioredis',
  makeStore: () => redisStore(ioredis, { prefix: `contract:${randomUUID()}` }),
  ...serverClock(ioredis),
})

rateLimitStoreContract({
  name: 'Redis by node-redis',
  makeStore: () => redisStore(nodeRedis, { prefix: `contract:${randomUUID()}` }),
  ...serverClock(ioredis),
})
