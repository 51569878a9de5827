import type { RedisClient } from '@sluice/core'
import { type Cluster, Redis } from 'ioredis'
import { createClient } from 'redis'
import { eventually } from '../../support/eventually.ts'

/** A client with its default settings, as an application would make it. */
export interface Connection extends AsyncDisposable {
  readonly redis: RedisClient
  /** Whether the client itself says that it is connected. */
  isReady(): boolean
}

export interface ClientKind {
  readonly name: string
  /** Sends again, by itself, what was under way when its connection broke. */
  readonly resends: boolean
  open(port: number): Connection
}

export const ioredis: ClientKind = {
  name: 'ioredis',
  resends: true,
  open: (port) => connection(new Redis(port, '127.0.0.1')),
}

const nodeRedis: ClientKind = {
  name: 'node-redis',
  resends: false,
  open: (port) => {
    const redis = createClient({ socket: { host: '127.0.0.1', port } })
    redis.on('error', () => {})
    redis.connect().catch(() => {}) // only when it is destroyed before it could connect
    return {
      redis,
      isReady: () => redis.isReady,
      async [Symbol.asyncDispose]() {
        redis.destroy()
      },
    }
  },
}

export const clientKinds: readonly ClientKind[] = [ioredis, nodeRedis]

/** A client that is connected, so that the first call pays for nothing but itself. */
export async function connected({ open }: ClientKind, port: number): Promise<Connection> {
  const client = open(port)
  await eventually(() => client.isReady(), { withinMs: 20_000 })
  return client
}

/** What a test needs of an ioredis client, whichever kind of server it talks to. */
export function connection(redis: Redis | Cluster): Connection {
  redis.on('error', () => {})
  return {
    redis,
    isReady: () => redis.status === 'ready',
    async [Symbol.asyncDispose]() {
      redis.disconnect()
    },
  }
}
