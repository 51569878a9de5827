import { Cluster, Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisCluster } from '../../support/redis-cluster.ts'
import { RedisSentinel } from '../../support/redis-sentinel.ts'

describe('sentinels', () => {
  test('promote the replica when the master dies, and clients find it', async () => {
    await using set = await RedisSentinel.start()
    await using client = disconnecting(new Redis({ name: set.name, sentinels: set.addresses }))
    await client.redis.set('before', '1')
    await eventually(async () => (await set.replica.command('GET', 'before')) === '1')
    const { port } = set.replica
    await set.failover()
    expect(set.master.port).toBe(port)
    await eventually(() => client.redis.set('after', '1'))
    expect(await set.master.command('MGET', 'before', 'after')).toEqual(['1', '1'])
  })

  test('take the dead master back as a replica', async () => {
    await using set = await RedisSentinel.start({ sentinels: 1 })
    await set.failover()
    await set.replica.restart()
    const role = async () => (await set.replica.command('ROLE')) as unknown[]
    await eventually(async () => (await role())[0] === 'slave', { withinMs: 20_000 })
  })
})

describe('a cluster', () => {
  test('serves every slot, and moves one step by step', async () => {
    await using cluster = await RedisCluster.start()
    await using client = disconnecting(new Cluster(cluster.addresses))
    const slot = await cluster.slotOf('{tag}:a')
    const from = await cluster.ownerOf(slot)
    const to = cluster.nodes.find((node) => node !== from) ?? from
    await client.redis.mset('{tag}:a', '1', '{tag}:b', '1')

    const migration = await cluster.migrateSlot(slot, from, to)
    expect(await from.command('GET', '{tag}:a')).toBe('1')
    await expect(from.command('GET', '{tag}:new')).rejects.toThrow(`ASK ${slot}`)
    expect(await client.redis.get('{tag}:new')).toBeNull()

    await migration.moveKeys()
    await expect(from.command('GET', '{tag}:a')).rejects.toThrow(`ASK ${slot}`)
    expect(await client.redis.incr('{tag}:a')).toBe(2)

    await migration.finish()
    await expect(from.command('GET', '{tag}:a')).rejects.toThrow(`MOVED ${slot}`)
    expect(await client.redis.incr('{tag}:a')).toBe(3)
    expect(await to.command('GET', '{tag}:b')).toBe('1')
    expect(await cluster.ownerOf(slot)).toBe(to)
  })
})

/** Ends a client with its test. */
function disconnecting<T extends Redis | Cluster>(redis: T) {
  redis.on('error', () => {})
  return {
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
    },
  }
}
