import {
  createRateLimiter,
  fixedWindow,
  type RateLimiter,
  redisStore,
  slidingLog,
} from '@sluice/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisCluster } from '../../support/redis-cluster.ts'
import { clusterKinds } from './cluster-clients.ts'
import { withoutTtl } from './keys.ts'
import { inTime } from './modes.ts'

const [limit, windowMs] = [100, 600_000]
const one = fixedWindow({ limit, windowMs })
const two = [one, slidingLog({ limit, windowMs })]

describe.each(clusterKinds)('a slot that moves to another master, over $name', ({ open }) => {
  let cluster: RedisCluster

  beforeAll(async () => {
    cluster = await RedisCluster.start()
  })

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
  })

  test.each([
    ['one', one],
    ['two', two],
  ])(
    'R33: keeps what a subject has spent, at every step (policies: %s)',
    async (subject, policy) => {
      await using client = await open(cluster)
      const limiter = createRateLimiter({
        store: redisStore(client.redis),
        policy,
        timeoutMs: 5000,
      })
      const move = await migration(subject)
      const remaining: number[] = []
      const ask = async () => {
        const { source, remaining: left } = await limiter.consume(subject)
        expect(source).toBe('store')
        remaining.push(left)
      }
      for (const step of [async () => {}, move.open, move.keys, move.finish, async () => {}]) {
        await step()
        await ask()
        await ask()
      }
      expect(remaining).toEqual(Array.from({ length: 10 }, (_, call) => limit - 1 - call))
      for (const node of cluster.nodes) expect(await withoutTtl(node)).toEqual([])
    },
  )

  test('R33: serves a subject that is new to it', async () => {
    await using client = await open(cluster)
    const store = redisStore(client.redis)
    const limiter = createRateLimiter({ store, policy: one, timeoutMs: 5000 })
    const move = await migration('new')
    await move.open()
    expect(await limiter.consume('new')).toMatchObject({ source: 'store', remaining: limit - 1 })
    await move.keys()
    expect(await limiter.consume('new')).toMatchObject({ source: 'store', remaining: limit - 2 })
    await move.finish()
    expect(await limiter.consume('new')).toMatchObject({ source: 'store', remaining: limit - 3 })
  })

  test('R33: refuses nobody for what a cluster cannot do: several new keys in a slot on the move', async () => {
    await using client = await open(cluster)
    const limiter = createRateLimiter({ store: redisStore(client.redis), policy: two })
    const move = await migration('newer')
    await move.open()
    const decisions = await Promise.all(Array.from({ length: 4 }, () => consume(limiter, 'newer')))
    for (const { allowed } of decisions) expect(allowed).toBe(true)
    expect(await consume(limiter, 'elsewhere')).toMatchObject({ source: 'store' })
    await move.keys()
    await move.finish()
    await eventually(() => client.write('newer'))
    await eventually(async () => (await consume(limiter, 'newer')).source === 'store', {
      withinMs: 1000,
    })
  })

  /** The way of the slot of `subject`, which is the hash tag of its keys. */
  async function migration(subject: string) {
    const slot = await cluster.slotOf(`{${subject}}`)
    const from = await cluster.ownerOf(slot)
    const [to = from] = cluster.nodes.filter((node) => node !== from)
    let moving: Awaited<ReturnType<typeof cluster.migrateSlot>> | undefined
    return {
      open: async () => {
        moving = await cluster.migrateSlot(slot, from, to)
      },
      keys: async () => moving?.moveKeys(),
      finish: async () => moving?.finish(),
    }
  }
})

function consume(limiter: RateLimiter, subject: string) {
  return inTime(limiter.consume(subject))
}
