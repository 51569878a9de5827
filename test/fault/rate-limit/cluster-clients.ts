import type { RedisClient } from '@sluice/core'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import type { RedisCluster } from '../../support/redis-cluster.ts'

/** A client with its default settings that is connected to a cluster. */
export interface ClusterConnection extends AsyncDisposable {
  readonly redis: RedisClient
  /** A write of the client's own to the slot of `key`. */
  write(key: string): Promise<unknown>
}

export interface ClusterKind {
  readonly name: string
  open(cluster: RedisCluster): Promise<ClusterConnection>
}

export const clusterKinds: readonly ClusterKind[] = [
  {
    name: 'ioredis',
    open: async ({ addresses }) => {
      const redis = new Cluster(addresses)
      redis.on('error', () => {})
      const write = (key: string) => redis.set(`own:{${key}}`, '1', 'PX', 1000)
      await write('any')
      return { redis, write, [Symbol.asyncDispose]: async () => redis.disconnect() }
    },
  },
  {
    name: 'node-redis',
    open: async ({ addresses }) => {
      const redis = createCluster({ rootNodes: addresses.map((socket) => ({ socket })) })
      redis.on('error', () => {})
      await redis.connect()
      const write = (key: string) => redis.set(`own:{${key}}`, '1', { PX: 1000 })
      return { redis, write, [Symbol.asyncDispose]: async () => redis.destroy() }
    },
  },
]
