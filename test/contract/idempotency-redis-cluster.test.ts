import { createIdempotency, redisStore } from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RedisCluster } from '../support/redis-cluster.ts'
import { begin, on, prefix, prefixEach, response, unknownKeys } from './idempotency-on-redis.ts'

prefixEach()

describe('a Cluster', () => {
  test('I15: hears news on sharded channels, and lists what is unknown slot by slot', async () => {
    await using cluster = await RedisCluster.start()
    const client = new Cluster(cluster.addresses)
    const store = redisStore(client, { prefix })
    const idempotency = createIdempotency({ store, timeoutMs: 10_000 })
    const execution = await begin(idempotency, 'k')
    const waiting = idempotency.begin({ key: 'k', fingerprint: 'x', waitMs: 20_000 })
    const channel = `${prefix}:idempotency:{:k}`
    const owner = await cluster.ownerOf(await cluster.slotOf(channel))
    const listeners = async () =>
      ((await owner.command('PUBSUB', 'SHARDNUMSUB', channel)) as unknown[])[1]
    await eventually(async () => (await listeners()) === 1)
    await execution.complete(response)
    expect(await waiting).toEqual({ state: 'replay', response })

    const keys = Array.from({ length: 20 }, (_, index) => `lost ${index}`)
    for (const key of keys) await (await begin(idempotency, key)).abandon()
    expect((await unknownKeys(idempotency)).sort()).toEqual([...keys].sort())
    await store.close()
    client.disconnect()
  })

  test('I1: serves a client that does not know that it is one', async () => {
    await using cluster = await RedisCluster.start({ masters: 1 })
    const client = new Redis(cluster.nodes[0]?.port ?? 0, '127.0.0.1')
    const idempotency = on(client)
    await (await begin(idempotency, 'k')).complete(response)
    expect(await idempotency.begin({ key: 'k', fingerprint: 'x' })).toMatchObject({
      state: 'replay',
    })
    await (await begin(idempotency, 'lost')).abandon()
    expect(await unknownKeys(idempotency)).toEqual(['lost'])
    client.disconnect()
  })

  test('I11: keeps a claim through the migration of its slot', async () => {
    await using cluster = await RedisCluster.start()
    const client = new Cluster(cluster.addresses)
    const idempotency = on(client)
    const execution = await begin(idempotency, 'k')
    const lost = await begin(idempotency, 'k2')
    const slot = await cluster.slotOf(`${prefix}:idempotency:{:k}`)
    const from = await cluster.ownerOf(slot)
    const to = cluster.nodes.find((node) => node !== from)
    if (!to) throw new Error('a cluster of one')
    const migration = await cluster.migrateSlot(slot, from, to)
    await migration.moveKeys()
    await migration.finish()
    expect(await execution.complete(response)).toBe('settled')
    await lost.abandon()
    expect(await unknownKeys(idempotency)).toEqual(['k2'])
    client.disconnect()
  })
})
