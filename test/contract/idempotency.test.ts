import { inject } from 'vitest'
import {
  clusterPlace,
  ioredisPlace,
  nodeRedisClusterPlace,
  nodeRedisPlace,
} from './idempotency-places.ts'
import { idempotencyStoreContract, memoryPlace } from './idempotency-store.ts'

idempotencyStoreContract('memory', memoryPlace)
idempotencyStoreContract('Redis over ioredis', () => ioredisPlace(inject('redisPort')))
idempotencyStoreContract('Redis over node-redis', () => nodeRedisPlace(inject('redisPort')))
idempotencyStoreContract('Redis Cluster over ioredis', clusterPlace)
idempotencyStoreContract('Redis Cluster over node-redis', nodeRedisClusterPlace)
