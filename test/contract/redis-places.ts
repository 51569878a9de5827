import { randomUUID } from 'node:crypto'
import { type RedisClient, redisStore, type Store } from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { RedisCluster } from '../support/redis-cluster.ts'
import { RedisServer } from '../support/redis-server.ts'
import { type Everywhere, ShiftedClock } from './shifted-clock.ts'

/** A store on real servers, and their clock. */
export interface RedisPlace extends AsyncDisposable {
  readonly store: Store
  /** Begins all of its keys. */
  readonly prefix: string
  readonly everywhere: Everywhere
  advance(ms: number): Promise<void>
}

export async function ioredisPlace(port: number): Promise<RedisPlace> {
  const redis = new Redis(port, '127.0.0.1')
  return placeOf(
    async (...words) => [await redis.call(words[0] as string, ...words.slice(1))],
    (clock) => clock.ioredis(redis),
    async () => redis.disconnect(),
  )
}

export async function nodeRedisPlace(port: number): Promise<RedisPlace> {
  const redis = createClient({ socket: { host: '127.0.0.1', port } })
  redis.on('error', () => {})
  await redis.connect()
  return placeOf(
    async (...words) => [await redis.sendCommand(words)],
    (clock) => clock.nodeRedis(redis),
    async () => redis.destroy(),
  )
}

export async function clusterPlace(): Promise<RedisPlace> {
  const servers = await RedisCluster.start()
  const cluster = new Cluster(servers.addresses)
  return placeOf(
    onEach(servers),
    (clock) => clock.ioredis(cluster),
    async () => {
      cluster.disconnect()
      await servers[Symbol.asyncDispose]()
    },
  )
}

export async function nodeRedisClusterPlace(): Promise<RedisPlace> {
  const servers = await RedisCluster.start()
  const cluster = createCluster({ rootNodes: servers.nodes.map(({ url }) => ({ url })) })
  cluster.on('error', () => {})
  await cluster.connect()
  return placeOf(
    onEach(servers),
    (clock) => clock.nodeRedisCluster(cluster),
    async () => {
      cluster.destroy()
      await servers[Symbol.asyncDispose]()
    },
  )
}

/** Three independent masters, for locks alone. */
export async function mastersPlace(): Promise<RedisPlace> {
  const nodes = await Promise.all([1, 2, 3].map(() => RedisServer.start()))
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'))
  return placeOf(
    onEach({ nodes }),
    (clock) => clients.map((client) => clock.ioredis(client)),
    async () => {
      for (const client of clients) client.disconnect()
      for (const node of nodes) await node[Symbol.asyncDispose]()
    },
  )
}

function onEach({ nodes }: Pick<RedisCluster, 'nodes'>): Everywhere {
  return (...words) =>
    Promise.all(nodes.map((node) => node.command(words[0] as string, ...words.slice(1))))
}

/** `words` go to every server that may hold keys. */
function placeOf(
  everywhere: Everywhere,
  client: (clock: ShiftedClock) => RedisClient | readonly RedisClient[],
  end: () => Promise<void>,
): RedisPlace {
  const prefix = `test-${randomUUID()}`
  const clock = new ShiftedClock(prefix, everywhere)
  const store = redisStore(client(clock), { prefix })
  return {
    store,
    prefix,
    everywhere,
    advance: (ms) => clock.advance(ms),
    async [Symbol.asyncDispose]() {
      await store.close()
      await everywhere('EVAL', CLEAR, '0', `${prefix}:*`)
      await end()
    },
  }
}

const CLEAR = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end"
