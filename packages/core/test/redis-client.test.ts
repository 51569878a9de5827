import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { describe, expect, it } from 'vitest'
import { ConfigurationError, redisStore } from '../src/index.ts'
import { redisPort } from '../src/redis/client.ts'

// None of these clients is connected: what they are is to be seen without a server.
const unconnected = { lazyConnect: true }
const nowhere = { socket: { port: 1 } }

describe('a Redis client', () => {
  it.each([
    ['an ioredis Redis', () => new Redis(1, unconnected), false],
    ['an ioredis Cluster', () => new Cluster([{ port: 1 }], unconnected), true],
    ['a node-redis client', () => createClient(nowhere), false],
    ['a node-redis pool', () => createClientPool(nowhere), false],
    ['a node-redis cluster', () => createCluster({ rootNodes: [nowhere] }), true],
    [
      'a node-redis sentinel',
      () => createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
      false,
    ],
  ])('that is %s is known for what it is', (_, make, cluster) => {
    const client = make()
    expect(redisPort(client).cluster).toBe(cluster)
    expect(redisStore(client).rateLimit.remote).toBe(true)
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an address', 'redis://127.0.0.1'],
    ['a number', 6379],
    ['an empty object', {}],
    ['a class', Redis],
    ['half an ioredis', { call: () => {} }],
    ['a node-redis 3 client', { send_command: () => {}, set: () => {} }],
  ])('that is %s is refused', (_, client) => {
    expect(() => redisStore(client as never)).toThrow(ConfigurationError)
    expect(() => redisStore(client as never)).toThrow('redisStore: `client` must be')
  })

  it('is listened to for new connections only as long as the store is open', async () => {
    const client = new Redis(1, unconnected)
    const before = client.listenerCount('ready')
    const store = redisStore(client)
    expect(client.listenerCount('ready')).toBeGreaterThan(before)
    await store.close()
    expect(client.listenerCount('ready')).toBe(before)
  })

  it('is listened to once, however many stores it serves, and tells all that are open', async () => {
    const client = new Redis(1, unconnected)
    const before = client.listenerCount('ready')
    const ports = Array.from({ length: 20 }, () => redisPort(client))
    const told: number[] = []
    const stops = ports.map((port, index) => port.onConnected(() => told.push(index)))
    expect(client.listenerCount('ready')).toBe(before + 1)
    stops[0]?.()
    stops[0]?.()
    client.emit('ready')
    expect(told).toEqual(Array.from({ length: 19 }, (_, index) => index + 1))
    for (const stop of stops) stop()
    expect(client.listenerCount('ready')).toBe(before)
    const again = ports[0]?.onConnected(() => told.push(100))
    stops[1]?.()
    client.emit('ready')
    expect(told.at(-1)).toBe(100)
    again?.()
    expect(client.listenerCount('ready')).toBe(before)
  })

  it('stays open when the store is closed', async () => {
    const client = new Redis(1, unconnected)
    await redisStore(client).close()
    expect(client.status).toBe('wait')
  })
})

describe('a prefix', () => {
  it('is plain text, with colons only inside', () => {
    const client = new Redis(1, unconnected)
    for (const prefix of ['a', 'app:prod', 'a.b/c-d_e', 'x'.repeat(100)])
      expect(() => redisStore(client, { prefix })).not.toThrow()
    const wrong = ['', ':a', 'a:', 'a{b}', 'a*', 'a b', 'é', '\n', 'x'.repeat(101), 5, null]
    for (const prefix of wrong as string[])
      expect(() => redisStore(client, { prefix }), prefix).toThrow('redisStore: `prefix` must be')
    expect(() => redisStore(client, { keyPrefix: 'a' } as never)).toThrow('did you mean `prefix`?')
  })
})

describe('several Redis masters', () => {
  it('hold no quota, and say so', () => {
    const store = redisStore([1, 2, 3].map((port) => new Redis(port, unconnected)))
    expect(() => store.rateLimit).toThrow(ConfigurationError)
    expect(() => store.rateLimit).toThrow('a store on one client')
  })

  it('L12: are at least three, and different ones', () => {
    const [a, b, c] = [1, 2, 3].map((port) => new Redis(port, unconnected)) as [Redis, Redis, Redis]
    for (const clients of [[], [a], [a, b], [a, a, a], [a, b, c, a]])
      expect(() => redisStore(clients)).toThrow('at least three different ones')
    expect(redisStore([a, b, c]).lock?.lines).toBe(false)
  })
})
