import { ConfigurationError } from '../errors.ts'

/**
 * What Sluice needs of a Redis client, whichever it is: one command out, one reply back. `key` tells a
 * cluster's client where the command belongs.
 */
export interface RedisPort {
  /** Keys of different hash slots must not meet in one command. */
  readonly cluster: boolean
  send(key: string, command: readonly [string, ...string[]]): Promise<unknown>
}

/** An ioredis `Redis` or `Cluster` (5 and later), as far as Sluice uses it. */
export interface IoredisLike {
  readonly isCluster?: boolean
  call(command: string, ...args: string[]): Promise<unknown>
}

/** A node-redis client, pool, sentinel or cluster (5 and later), as far as Sluice uses it. */
export interface NodeRedisLike {
  // biome-ignore lint/suspicious/noExplicitAny: its three forms take three argument lists
  sendCommand(...args: any[]): Promise<unknown>
}

/** The clients that {@link redisStore} takes; connecting them, and their `error` events, are the caller's. */
export type RedisClient = IoredisLike | NodeRedisLike

/**
 * Wraps a client in the port, after a look at what kind it is.
 *
 * @throws ConfigurationError (`configuration`) for anything else.
 */
export function redisPort(client: unknown): RedisPort {
  if (has(client, 'call') && has(client, 'pipeline')) return ioredisPort(client as IoredisLike)
  if (has(client, 'sendCommand')) return nodeRedisPort(client as NodeRedisLike)
  throw new ConfigurationError(
    'redisStore',
    'client',
    client,
    'a connected ioredis client (Redis or Cluster) or a node-redis client (5 or later)',
  )
}

function ioredisPort(client: IoredisLike): RedisPort {
  return {
    cluster: client.isCluster === true,
    send: (_key, command) => client.call(...command),
  }
}

function nodeRedisPort(client: NodeRedisLike): RedisPort {
  if (has(client, 'getSlotRandomNode'))
    return { cluster: true, send: (key, command) => client.sendCommand(key, false, command) }
  if (has(client, 'getSentinelNode'))
    return { cluster: false, send: (_key, command) => client.sendCommand(false, command) }
  return { cluster: false, send: (_key, command) => client.sendCommand(command) }
}

function has(value: unknown, method: string): boolean {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, method) === 'function'
  )
}
