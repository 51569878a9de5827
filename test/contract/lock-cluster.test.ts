import { ConfigurationError, createLocker, type LockKeys, redisStore } from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { RedisCluster } from '../support/redis-cluster.ts'
import { lockOn } from './lock-on.ts'
import { claimOf } from './lock-store/locks-under-test.ts'

describe('a Cluster', () => {
  test('L6: hears turns on sharded channels, in the slot of the lock', async () => {
    await using cluster = await RedisCluster.start()
    const client = new Cluster(cluster.addresses)
    client.on('error', () => {}) // the servers end first
    onTestFinished(() => client.disconnect())
    const store = lockOn(client)
    for (const key of ['a', 'b', '{c}d']) {
      await store.acquire([key], claimOf('a'))
      await store.acquire([key], claimOf('b'), { waiter: 'w' })
      const turn = new Promise<void>((resolve) => {
        const listening = store.listen(key, 'w', resolve)
        void listening.ready.then(() => store.release([key], claimOf('a')))
      })
      await turn
    }
    const sharded = await Promise.all(
      cluster.nodes.map((node) => node.command('PUBSUB', 'SHARDCHANNELS')),
    )
    expect(sharded.flat().length).toBe(3)
  }, 30_000)

  test('L14: that its client does not know of, as behind a proxy, refuses keys of different slots', async () => {
    await using single = await RedisCluster.start({ masters: 1 })
    const client = new Redis(single.addresses[0]?.port ?? 0, '127.0.0.1')
    client.on('error', () => {}) // the servers end first
    onTestFinished(() => client.disconnect())
    const store = lockOn(client)
    const apart: LockKeys = ['a', 'b']
    store.check(apart)
    await expect(store.acquire(apart, claimOf('a'))).rejects.toMatchObject({
      code: 'configuration',
    })
    expect(() => store.check(apart)).toThrow('"a", "b"')
    const together: LockKeys = ['{a}1', '{a}2']
    store.check(together)
    expect((await store.acquire(together, claimOf('a'))).state).toBe('granted')
  }, 30_000)

  test('L13: cannot be asked how many replicas have a lease', () => {
    const client = new Cluster([{ port: 1, host: '127.0.0.1' }], { lazyConnect: true })
    const store = redisStore(client)
    expect(() => createLocker({ store, replicas: { min: 1, waitMs: 100 } })).toThrow(
      ConfigurationError,
    )
  })
})
