import { randomUUID } from 'node:crypto'
import { redisStore } from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { beforeAll } from 'vitest'
import { RedisCluster } from '../support/redis-cluster.ts'
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
