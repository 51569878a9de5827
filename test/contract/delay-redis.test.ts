import { randomUUID } from 'node:crypto'
import {
  createDelayQueue,
  type DelayQueueOptions,
  type DelayStore,
  redisStore,
  type Worker,
} from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { FlakyLink } from '../support/flaky-link.ts'
import { RedisCluster } from '../support/redis-cluster.ts'

const HOUR_MS = 3_600_000

let link: FlakyLink
/** Its requests are counted. */
let linked: Redis
let direct: Redis
let prefix: string
const workers: Worker[] = []

beforeAll(async () => {
  link = await FlakyLink.to(inject('redisPort'))
  linked = new Redis(link.port, '127.0.0.1')
  direct = new Redis(inject('redisPort'), '127.0.0.1')
  await Promise.all([linked.ping(), direct.ping()])
})
afterAll(async () => {
  linked.disconnect()
  direct.disconnect()
  await link[Symbol.asyncDispose]()
})
beforeEach(() => {
  prefix = `test-${randomUUID()}`
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close({ graceMs: 0 })
  const keys = await keysNow()
  if (keys.length > 0) await direct.del(...keys)
})

function queueOn(redis: Redis | Cluster, options: Partial<DelayQueueOptions> = {}) {
  const store = redisStore(redis, { prefix })
  return createDelayQueue({ name: 'shop:{expiry}', store, timeoutMs: 10_000, ...options })
}

function keysNow(): Promise<string[]> {
  return direct.keys(`${prefix}:*`)
}

async function eternalKeys(): Promise<string[]> {
  const ttls = await Promise.all(
    (await keysNow()).map(async (key) => [key, await direct.pttl(key)]),
  )
  return ttls.filter(([, ttl]) => ttl === -1).map(([key]) => String(key).slice(prefix.length))
}

describe('what is in Redis', () => {
  test('D11: is named by the queue inside one hash tag', async () => {
    const queue = queueOn(direct, { maxAttempts: 1 })
    for (const id of ['a', 'b', 'c']) await queue.schedule(id, 0, { delayMs: 0 })
    const worker = queue.work(({ id }) => {
      if (id === 'a') throw new Error('dies')
      return id === 'b' ? new Promise(() => {}) : undefined
    })
    workers.push(worker)
    await queue.schedule('later', 0, { delayMs: HOUR_MS })
    await eventually(async () => (await queue.stats()).dead === 1)
    const keys = await keysNow()
    const tag = `${prefix}:delay:{shop%3a%7bexpiry%7d}:`
    expect(keys.filter((key) => !key.includes(':probe')).sort()).toEqual(
      ['dead', 'fence', 'processing', 'scheduled', 'tasks'].map((part) => tag + part),
    )
  })

  test('D9: has no TTL as long as a task is not done, and nothing without one when all are', async () => {
    const queue = queueOn(direct, { maxAttempts: 1 })
    await queue.schedule('good', 0, { delayMs: 0 })
    await queue.schedule('bad', 0, { delayMs: 0 })
    await queue.schedule('later', 0, { delayMs: HOUR_MS })
    const own = ':delay:{shop%3a%7bexpiry%7d}:'
    expect((await eternalKeys()).sort()).toEqual([`${own}scheduled`, `${own}tasks`])
    const worker = queue.work(({ id }) => {
      if (id === 'bad') throw new Error('dies')
    })
    workers.push(worker)
    await eventually(async () => (await queue.stats()).dead === 1)
    await worker.close()
    expect((await eternalKeys()).sort()).toEqual(
      ['dead', 'scheduled', 'tasks'].map((part) => own + part),
    )
    await queue.dead.discard('bad')
    await queue.cancel('later')
    expect(await eternalKeys()).toEqual([])
  })

  test('takes at most 220 bytes a waiting task more than its id and its payload', async () => {
    const queue = queueOn(direct)
    const payload = { orderId: randomUUID(), amount: 1999, currency: 'EUR', customer: 'c-1234567' }
    const count = 3000
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        queue.schedule(randomUUID(), payload, { delayMs: HOUR_MS + index }),
      ),
    )
    const sizes = (await keysNow()).map(async (key) =>
      Number(await direct.memory('USAGE', key, 'SAMPLES', 0)),
    )
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    const own = 36 + JSON.stringify(payload).length
    expect(bytes / count - own).toBeLessThanOrEqual(220)
  })

  test('D4: a waiting id without a task, or a silent one, is dropped', async () => {
    const queue = queueOn(direct)
    await queue.schedule('whole', 0, { delayMs: 0 })
    const tag = `${prefix}:delay:{shop%3a%7bexpiry%7d}:`
    await direct.zadd(`${tag}scheduled`, 1, 'orphan')
    await direct.zadd(`${tag}processing`, 1, 'orphan too')
    const ran: string[] = []
    const worker = queue.work(({ id }) => ran.push(id))
    workers.push(worker)
    await eventually(async () => (await queue.stats()).due === 0)
    await worker.close()
    expect(ran).toEqual(['whole'])
    expect(await eternalKeys()).toEqual([])
  })

  test('D11: is found and heard of by clients that prefix every key themselves', async () => {
    const prefixed = new Redis(inject('redisPort'), '127.0.0.1', { keyPrefix: `${prefix}:own:` })
    const queue = queueOn(prefixed, { sweepMs: HOUR_MS })
    const ran: string[] = []
    workers.push(queue.work(({ id }) => ran.push(id)))
    await queue.schedule('first', 0, { delayMs: 0 })
    await eventually(() => ran.length === 1)
    await queue.schedule('second', 0, { delayMs: 0 })
    await eventually(() => ran.length === 2)
    for (const key of await keysNow())
      expect(key.startsWith(`${prefix}:own:${prefix}:delay`)).toBe(true)
    await workers.pop()?.close()
    prefixed.disconnect()
  })
})

describe('what goes over the wire', () => {
  async function count(work: () => Promise<unknown>): Promise<number> {
    const before = link.requests()
    await work()
    return link.requests() - before
  }

  test('is one request for each call, and one for those of one turn', async () => {
    const queue = queueOn(linked)
    await queue.schedule('warm', 0, { delayMs: HOUR_MS })
    await queue.cancel('warm')
    expect(await count(() => queue.schedule('a', 0, { delayMs: HOUR_MS }))).toBe(1)
    expect(await count(() => queue.cancel('a'))).toBe(1)
    expect(await count(() => queue.stats().then(() => queue.stats()))).toBeLessThanOrEqual(3)
    const many = () =>
      Promise.all(
        Array.from({ length: 50 }, (_, index) => queue.schedule(`b ${index}`, 0, { delayMs: 0 })),
      )
    expect(await count(many)).toBe(1)
  })

  test('is one claim and one ack for the tasks of one turn', async () => {
    const queue = queueOn(linked, { sweepMs: HOUR_MS })
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => queue.schedule(`${index}`, 0, { delayMs: 0 })),
    )
    const store = redisStore(direct, { prefix }).delay as DelayStore
    const name = 'shop:{expiry}'
    const { tasks } = await store.claim(name, { max: 50, visibilityMs: 9000, maxAttempts: 2 })
    expect(tasks).toHaveLength(50)
    for (const { id, receipt } of tasks)
      await store.settle(name, id, receipt, { state: 'returned', attempted: false })
    const before = link.requests('EVALSHA')
    let ran = 0
    workers.push(queue.work(() => void ran++, { concurrency: 100 }))
    await eventually(async () => ran === 50 && (await store.stats(name)).processing === 0)
    // Scripts that the server does not know yet are sent by EVAL too.
    expect(link.requests('EVALSHA') - before).toBeLessThanOrEqual(4)
  })

  test('D4: an idle worker asks once a sweep', async () => {
    const queue = queueOn(linked, { sweepMs: 300 })
    await queue.schedule('far', 0, { delayMs: HOUR_MS })
    workers.push(queue.work(() => {}))
    const claims = link.requests('EVALSHA')
    await eventually(() => link.requests('EVALSHA') >= claims + 4)
    const [before, startedAt] = [link.requests(), performance.now()]
    await eventually(() => link.requests() >= before + 5)
    expect(performance.now() - startedAt).toBeGreaterThan(4 * 300)
  })

  test('D4: one connection more listens for all workers, and is closed with the store', async () => {
    const client = new Redis(inject('redisPort'), '127.0.0.1', { connectionName: prefix })
    const store = redisStore(client, { prefix })
    const queues = ['a', 'b'].map((name) => createDelayQueue({ name, store }))
    const own = queues.flatMap((queue) => [queue.work(() => {}), queue.work(() => {})])
    const connections = async () => {
      const list = String(await direct.client('LIST'))
      return list.split('\n').filter((line) => line.includes(`name=${prefix}`)).length
    }
    await eventually(async () => (await connections()) === 2)
    for (const worker of own) await worker.close()
    await store.close()
    await eventually(async () => (await connections()) === 1)
    client.disconnect()
  })
})

describe('D11: a Cluster', () => {
  test('D4: hears of earlier tasks on a sharded channel of the queue’s slot', async () => {
    await using cluster = await RedisCluster.start()
    const client = new Cluster(cluster.addresses)
    const queue = queueOn(client, { sweepMs: HOUR_MS })
    const ran: string[] = []
    const worker = queue.work(({ id }) => ran.push(id))
    const channel = `${prefix}:delay:{shop%3a%7bexpiry%7d}:hints`
    const owner = await cluster.ownerOf(await cluster.slotOf(channel))
    const listeners = async () =>
      ((await owner.command('PUBSUB', 'SHARDNUMSUB', channel)) as unknown[])[1]
    await eventually(async () => (await listeners()) === 1)
    await queue.schedule('far', 0, { delayMs: HOUR_MS })
    await queue.schedule('now', 0, { delayMs: 0 })
    await eventually(() => ran.length === 1)
    await worker.close()
    await eventually(async () => (await listeners()) === 0)
    client.disconnect()
  })

  test('serves a client that does not know that it is one', async () => {
    await using cluster = await RedisCluster.start({ masters: 1 })
    const client = new Redis(cluster.nodes[0]?.port ?? 0, '127.0.0.1')
    const queue = queueOn(client)
    const ran: string[] = []
    const worker = queue.work(({ id }) => ran.push(id))
    await queue.schedule('a', 0, { delayMs: 0 })
    await eventually(() => ran.length === 1)
    await worker.close()
    expect(await queue.stats()).toMatchObject({ processing: 0, due: 0 })
    client.disconnect()
  })
})
