import { inject } from 'vitest'
import { idempotencyStoreContract, memoryPlace, recordsOf } from './idempotency-store.ts'
import {
  clusterPlace,
  ioredisPlace,
  nodeRedisClusterPlace,
  nodeRedisPlace,
} from './redis-places.ts'

idempotencyStoreContract('memory', memoryPlace)
idempotencyStoreContract('Redis over ioredis', () => recordsOf(ioredisPlace(inject('redisPort'))))
idempotencyStoreContract('Redis over node-redis', () =>
  recordsOf(nodeRedisPlace(inject('redisPort'))),
)
idempotencyStoreContract('Redis Cluster over ioredis', () => recordsOf(clusterPlace()))
idempotencyStoreContract('Redis Cluster over node-redis', () => recordsOf(nodeRedisClusterPlace()))
