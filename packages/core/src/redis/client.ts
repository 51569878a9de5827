import { ConfigurationError } from '../errors.ts'

import { OneListener } from '../one-listener.ts'

import {
  type IoredisSubscribing,
  ioredisSubscriber,
  type NodeRedisSubscribing,
  nodeRedisSubscriber,
  type Subscriber,
} from './subscriber.ts'

/**
 * What Sluice needs of a Redis client, whichever it is: one command out, one reply back. `key` tells a
 * cluster's client where the command belongs.
 */
export interface RedisPort {
  /** Keys of different hash slots must not meet in one command. */
  readonly cluster: boolean
  /** Commands sent one after the other go over one connection, as long as it lasts. */
  readonly oneConnection: boolean
  send(key: string, command: readonly [string, ...string[]]): Promise<unknown>
  /** The same for bytes: arguments may be Buffers, and every text in the reply comes as one. */
  sendBytes(key: string, command: readonly [string, ...(string | Buffer)[]]): Promise<unknown>
  /** Opens a connection of the store's own, for messages; undefined where the client cannot be duplicated. */
  openSubscriber(onMessage: (channel: string, message: string) => void): Subscriber | undefined
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
  /** Needed for idempotency, whose stored bodies are bytes. */
  callBuffer?(command: string, ...args: (string | Buffer)[]): Promise<unknown>
  /** With it, whoever waits is woken; without, they ask once a second. */
  duplicate?(...args: never): unknown
}

/** A node-redis client, pool, sentinel or cluster (5 and later), as far as Sluice uses it. */
export interface NodeRedisLike extends Emitter {
  // biome-ignore lint/suspicious/noExplicitAny: its three forms take three argument lists
  sendCommand(...args: any[]): Promise<unknown>
  /** See {@link IoredisLike.duplicate}. */
  duplicate?(...args: never): unknown
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
  const cluster = client.isCluster === true
  return {
    cluster,
    oneConnection: !cluster,
    send: (_key, command) => client.call(...command),
    sendBytes: (_key, command) =>
      client.callBuffer?.(...command) ??
      Promise.reject(new TypeError('the client has no callBuffer(), as ioredis has')),
    onConnected: connections(client),
    openSubscriber: (onMessage) =>
      client.duplicate &&
      ioredisSubscriber(client as unknown as IoredisSubscribing, cluster, onMessage),
  }
}

function nodeRedisPort(client: NodeRedisLike): RedisPort {
  const cluster = has(client, 'getSlotRandomNode')
  const sentinel = has(client, 'getSentinelNode')
  /** What says where the command goes; `false`: not to a replica. */
  const place = (key: string): readonly unknown[] =>
    cluster ? [key, false] : sentinel ? [false] : []
  return {
    cluster,
    oneConnection: !cluster && !has(client, 'execute'), // a pool has that
    send: (key, command) => client.sendCommand(...place(key), command),
    sendBytes: (key, command) => client.sendCommand(...place(key), command, AS_BYTES),
    onConnected: connections(client),
    openSubscriber: (onMessage) =>
      client.duplicate &&
      nodeRedisSubscriber(client as unknown as NodeRedisSubscribing, cluster, onMessage),
  }
}

/** By the first byte of a reply's type: `$`, a text of known length. */
const AS_BYTES = { typeMapping: { [0x24]: Buffer } }

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
