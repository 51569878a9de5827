import { inject } from 'vitest'
import { delayQueueContract, memoryQueues } from './delay-queue.ts'
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

delayQueueContract('memory', memoryQueues)
delayQueueContract('Redis over ioredis', () => ioredisPlace(inject('redisPort')))
delayQueueContract('Redis over node-redis', () => nodeRedisPlace(inject('redisPort')))
delayQueueContract('D11: Redis Cluster over ioredis', clusterPlace)
