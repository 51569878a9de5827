import {
  createRateLimiter,
  fixedWindow,
  leakyBucket,
  type Policy,
  redisStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fields } from '../../support/command.ts'
import { RedisCluster } from '../../support/redis-cluster.ts'
import type { RedisServer } from '../../support/redis-server.ts'
import { connection } from './clients.ts'
import { clusterKinds } from './cluster-clients.ts'
import { withoutTtl } from './keys.ts'

const [limit, windowMs] = [100, 600_000]
const policies: readonly Policy[] = [
  fixedWindow({ limit, windowMs }),
  slidingWindow({ limit, windowMs }),
  slidingLog({ limit, windowMs }),
  tokenBucket({ capacity: limit, refill: 1, refillMs: windowMs }),
  leakyBucket({ capacity: limit, drain: 1, drainMs: windowMs }),
  fixedWindow({ name: 'two', limit: 2, windowMs }),
]

describe('a cluster of three masters', () => {
  let cluster: RedisCluster

  beforeAll(async () => {
    cluster = await RedisCluster.start()
  })

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
  })

  test.each(clusterKinds)(
    'R33: decides six policies for subjects of every master over $name',
    async ({ name, open }) => {
      await using client = await open(cluster)
      const store = redisStore(client.redis, { prefix: name })
      const limiter = createRateLimiter({
        store,
        policy: policies,
        denyCacheMs: 0,
        timeoutMs: 10_000,
      })
      const subjects = Array.from({ length: 200 }, (_, subject) => `subject ${subject}`)
      for (const expected of [true, true, false]) {
        const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)))
        for (const { source, allowed } of decisions)
          expect({ source, allowed }).toEqual({ source: 'store', allowed: expected })
      }
      const [subject = ''] = subjects
      expect((await limiter.peek(subject)).policies.at(0)).toMatchObject({ remaining: limit - 2 })
      await limiter.refund(subject, 1)
      expect(await limiter.consume(subject)).toMatchObject({ source: 'store', allowed: true })
      await limiter.reset(subject)
      expect((await limiter.peek(subject)).policies.at(0)).toMatchObject({ remaining: limit })

      for (const node of cluster.nodes) {
        expect(await calls(node)).toBeGreaterThan(0)
        expect(await errors(node)).not.toHaveProperty('errorstat_CROSSSLOT')
        expect(await withoutTtl(node)).toEqual([])
      }
    },
  )
})

test('R33: a plain client at a node that owns all slots stops sending subjects together', async () => {
  await using cluster = await RedisCluster.start({ masters: 1 })
  const [node] = cluster.nodes as [RedisServer]
  await using client = connection(new Redis(node.port, '127.0.0.1'))
  const store = redisStore(client.redis)
  const limiter = createRateLimiter({ store, policy: policies, denyCacheMs: 0, timeoutMs: 10_000 })
  const subjects = Array.from({ length: 40 }, (_, subject) => `${subject}`)
  const refusals: unknown[] = []
  for (const expected of [true, true, false]) {
    const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)))
    for (const { source, allowed } of decisions)
      expect({ source, allowed }).toEqual({ source: 'store', allowed: expected })
    refusals.push((await errors(node))['errorstat_CROSSSLOT'])
  }
  // The server refused what came together in the first tick, and has not been asked for it again.
  expect(refusals).toEqual(['count=3', 'count=3', 'count=3'])
})

async function calls(node: RedisServer): Promise<number> {
  const stats = fields(await node.command('INFO', 'commandstats'))
  return Number(/calls=(\d+)/.exec(stats['cmdstat_evalsha'] ?? '')?.[1] ?? 0)
}

async function errors(node: RedisServer): Promise<Record<string, string>> {
  return fields(await node.command('INFO', 'errorstats'))
}
