import { randomUUID } from 'node:crypto'
import { createRateLimiter, redisStore } from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { RedisCluster } from '../support/redis-cluster.ts'
import { cases, LONG_MS } from './rate-limit/cases.ts'
import { passing } from './rate-limit/rig.ts'
import { rateLimitStoreContract } from './rate-limit-store.ts'
import { serverClock } from './server-clock.ts'

let cluster: RedisCluster
let ioredis: Cluster
let nodeRedis: ReturnType<typeof createCluster>
let anyNode: Redis

beforeAll(async () => {
  cluster = await RedisCluster.start()
  const [first] = cluster.addresses
  ioredis = new Cluster(cluster.addresses)
  nodeRedis = createCluster({ rootNodes: cluster.addresses.map((socket) => ({ socket })) })
  await nodeRedis.connect()
  anyNode = new Redis(first?.port ?? 0) // all run on one machine, so by one clock
  return async () => {
    anyNode.disconnect()
    ioredis.disconnect()
    nodeRedis.destroy()
    await cluster[Symbol.asyncDispose]()
  }
}, 60_000)

const clock = {
  now: () => serverClock(anyNode).now(),
  advance: (ms: number) => serverClock(anyNode).advance(ms),
}

rateLimitStoreContract({
  name: 'R33: a Redis Cluster by ioredis',
  makeStore: () => redisStore(ioredis, { prefix: `contract:${randomUUID()}` }),
  ...clock,
})

rateLimitStoreContract({
  name: 'R33: a Redis Cluster by node-redis',
  makeStore: () => redisStore(nodeRedis, { prefix: `contract:${randomUUID()}` }),
  ...clock,
})

test('R33: a cluster that its client does not know of, as behind a proxy, is found out and served', async () => {
  await using single = await RedisCluster.start({ masters: 1 })
  const client = new Redis(single.addresses[0]?.port ?? 0)
  onTestFinished(() => client.disconnect())
  const policy = cases.map(({ policy }, index) => policy(3, LONG_MS, `p${index}`))
  const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
  const limiter = createRateLimiter({ name: 'a', policy, store: redisStore(client), ...options })
  for (const round of ['first', 'second']) {
    const subjects = Array.from({ length: 40 }, (_, index) => `${round} ${index}`)
    const passed = await Promise.all(subjects.map((subject) => passing(limiter, subject, 5)))
    expect(passed).toEqual(subjects.map(() => 3))
  }
}, 60_000)
