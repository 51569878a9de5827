import { type RedisClient, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { createSentinel } from 'redis'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisSentinel } from '../../support/redis-sentinel.ts'
import { withoutTtl } from './keys.ts'
import { inTime, Limiters } from './modes.ts'

/** A client that finds its server through sentinels, and a write of its own. */
interface SentinelClient extends AsyncDisposable {
  readonly redis: RedisClient
  write(): Promise<unknown>
}

const kinds = [
  {
    name: 'ioredis',
    open: async ({ name, addresses }: RedisSentinel): Promise<SentinelClient> => {
      const redis = new Redis({ name, sentinels: addresses })
      redis.on('error', () => {})
      const write = () => redis.set('own', '1', 'PX', 1000)
      return { redis, write, [Symbol.asyncDispose]: async () => redis.disconnect() }
    },
  },
  {
    name: 'node-redis',
    open: async ({ name, addresses }: RedisSentinel): Promise<SentinelClient> => {
      const redis = createSentinel({ name, sentinelRootNodes: addresses })
      redis.on('error', () => {})
      await redis.connect()
      const write = () => redis.set('own', '1', { PX: 1000 })
      return { redis, write, [Symbol.asyncDispose]: async () => void (await redis.destroy()) }
    },
  },
]

describe.each(kinds)(
  'requests over $name that go on while sentinels replace the master',
  ({ open }) => {
    test('R31: are decided throughout, and by the new master once the client has found it', async () => {
      await using set = await RedisSentinel.start()
      await using client = await open(set)
      const limiters = new Limiters(redisStore(client.redis))
      await eventually(() => limiters.areServed('before'))
      const spent = await limiters.spent('before')
      await eventually(async () => (await set.replica.command('DBSIZE')) === 4)

      await limiters.consumeDuring(async () => {
        await set.failover()
        await eventually(() => inTime(client.write()), { withinMs: 20_000 })
      })
      await eventually(() => limiters.areServed(), { withinMs: 1000 })
      expect(limiters.wrong).toEqual([])
      expect(await limiters.spent('before')).toEqual(spent)
      expect(await withoutTtl(set.master)).toEqual([])
    })
  },
)
