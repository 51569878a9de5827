import { ConfigurationError } from '../errors.ts'
import { OneListener } from '../one-listener.ts'

/**
 * What Sluice needs of a Redis client, whichever it is: one command out, one reply back. `key` tells a
 * cluster's client where the command belongs.
 */
export interface RedisPort {
  /** Keys of different hash slots must not meet in one command. */
  readonly cluster: boolean
  send(key: string, command: readonly [string, ...string[]]): Promise<unknown>
  /** Calls the listener for each new connection; returns the function that stops it. */
  onConnected(listener: () => void): () => void
}

interface Emitter {
  on(event: 'ready', listener: () => void): unknown
  off(event: 'ready', listener: () => void): unknown
}

/** An ioredis `Redis` or `Cluster` (5 and later), as far as Sluice uses it. */
export interface IoredisLike extends Emitter {
  readonly isCluster?: boolean
  call(command: string, ...args: string[]): Promise<unknown>
}

/** A node-redis client, pool, sentinel or cluster (5 and later), as far as Sluice uses it. */
export interface NodeRedisLike extends Emitter {
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
    onConnected: connections(client),
  }
}

function nodeRedisPort(client: NodeRedisLike): RedisPort {
  const onConnected = connections(client)
  const cluster = has(client, 'getSlotRandomNode')
  if (cluster)
    return { cluster, onConnected, send: (key, command) => client.sendCommand(key, false, command) }
  if (has(client, 'getSentinelNode'))
    return { cluster, onConnected, send: (_key, command) => client.sendCommand(false, command) }
  return { cluster, onConnected, send: (_key, command) => client.sendCommand(command) }
}

function connections(client: Emitter): RedisPort['onConnected'] {
  return (listener) => connected.add(client, listener)
}

/** An application may make a store a route. */
const connected = new OneListener<Emitter>((client, heard) => {
  client.on('ready', heard)
  return () => void client.off('ready', heard)
})

function has(value: unknown, method: string): boolean {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, method) === 'function'
  )
}
