import { inject } from 'vitest'
import { delayStoreContract, memoryTasks, tasksOf } from './delay-store.ts'
import {
  clusterPlace,
  ioredisPlace,
  nodeRedisClusterPlace,
  nodeRedisPlace,
} from './redis-places.ts'

delayStoreContract('memory', memoryTasks)
delayStoreContract('Redis over ioredis', () => tasksOf(ioredisPlace(inject('redisPort'))))
delayStoreContract('Redis over node-redis', () => tasksOf(nodeRedisPlace(inject('redisPort'))))
delayStoreContract('D11: Redis Cluster over ioredis', () => tasksOf(clusterPlace()))
delayStoreContract('D11: Redis Cluster over node-redis', () => tasksOf(nodeRedisClusterPlace()))
