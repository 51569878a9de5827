import { randomUUID } from 'node:crypto'
import {
  createIdempotency,
  type Execution,
  type Idempotency,
  type RedisClient,
  redisStore,
  type UnknownPage,
} from '@sluice/core'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { FlakyLink } from '../support/flaky-link.ts'
import { RedisCluster } from '../support/redis-cluster.ts'

const response = { status: 200, headers: [], body: 'done' }

let link: FlakyLink
/** Its requests are counted. */
let linked: Redis
let direct: Redis
let prefix: string

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

test('I11: any number of unknown outcomes is listed, in pages that a call can carry', async () => {
  const store = redisStore(direct, { prefix })
  const keys = Array.from({ length: 2000 }, (_, index) => `lost-${index}`)
  const idempotency = createIdempotency({ store, timeoutMs: 10_000 })
  for (let at = 0; at < keys.length; at += 500)
    await Promise.all(
      keys.slice(at, at + 500).map(async (key) => (await begin(idempotency, key)).abandon()),
    )
  const pages: number[] = []
  const found: string[] = []
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page: UnknownPage | undefined = await store.idempotency?.unknown(from)
    pages.push(page?.records.length ?? 0)
    from = page?.next
  }
  for await (const { key } of idempotency.unknown()) found.push(key)
  expect(Math.max(...pages)).toBeLessThan(1000)
  expect(found.sort()).toEqual(keys.sort())
})

describe('what is in Redis', () => {
  test('I4: is named by scope and key inside one hash tag, and has a TTL in every state', async () => {
    const idempotency = on(direct)
    await begin(idempotency, 'claimed', 'shop')
    await (await begin(idempotency, 'completed', 'shop')).complete(response)
    await (await begin(idempotency, 'buried', 'shop')).bury()
    await (await begin(idempotency, 'abandoned', 'shop')).abandon()
    await (await begin(idempotency, 'released', 'shop')).release()
    await (await begin(idempotency, 'a {b}: *ü')).complete(response)
    await begin(idempotency, 'k'.repeat(255), 's'.repeat(500))
    const keys = await keysNow()
    for (const key of keys) {
      expect(key).toMatch(/^test-[\w-]+:idempotency:(open|\{[^{}*?: ]*:[^{}*?: ]+\})$/)
      expect(key.length).toBeLessThan(300)
      expect(await direct.pttl(key)).toBeGreaterThan(0)
    }
    expect(keys).toContain(`${prefix}:idempotency:{shop:completed}`)
  })

  test.each([
    ['small', '{"ok":true}'],
    ['bytes', Buffer.alloc(5200, 0xfe)],
  ])('takes at most 400 bytes more than the response’s own (%s)', async (_, body) => {
    const headers = [
      ['content-type', 'application/json'],
      ['location', '/orders/1'],
    ] as const
    const scope = randomUUID()
    const key = randomUUID()
    await (await begin(on(direct), key, scope)).complete({ status: 201, headers, body })
    const own = Buffer.byteLength(body) + headers.flat().join('').length
    const record = `${prefix}:idempotency:{${scope}:${key}}`
    // 5,200 and 5,600 bytes are the same to the allocator, which rounds up.
    await direct.set(`${prefix}:x`, Buffer.alloc(own))
    const floor = Number(await direct.memory('USAGE', `${prefix}:x`))
    expect((await direct.strlen(record)) + record.length - own).toBeLessThanOrEqual(400)
    expect(Number(await direct.memory('USAGE', record)) - floor).toBeLessThanOrEqual(400)
    expect(await direct.zcard(`${prefix}:idempotency:open`)).toBe(0)
  })

  test('holds neither fingerprint nor caller nor owner in the clear', async () => {
    const secret = 'a secret of the caller'
    await on(direct).begin({ key: 'k', fingerprint: secret, caller: secret })
    expect(await direct.get(`${prefix}:idempotency:{:k}`)).not.toContain('secret')
  })

  test('I11: is found and heard of by clients that prefix every key themselves', async () => {
    const prefixed = new Redis(inject('redisPort'), '127.0.0.1', { keyPrefix: `${prefix}:own:` })
    const idempotency = on(prefixed)
    await (await begin(idempotency, 'k')).abandon()
    expect(await unknownKeys(idempotency)).toEqual(['k'])
    const waiting = idempotency.begin({ key: 'k2', fingerprint: 'x', waitMs: 10_000 })
    expect((await waiting).state).toBe('started')
    prefixed.disconnect()
  })
})

describe('what goes over the wire', () => {
  test('is one round trip to begin, one to complete, and one to replay', async () => {
    const idempotency = on(linked)
    await (await begin(idempotency, 'warm')).complete(response)
    const count = async (work: () => Promise<unknown>) => {
      const before = link.requests()
      await work()
      return link.requests() - before
    }
    let execution: Execution | undefined
    expect(
      await count(async () => {
        execution = await begin(idempotency, 'k')
      }),
    ).toBe(1)
    expect(await count(async () => execution?.complete(response))).toBe(1)
    expect(await count(() => idempotency.begin({ key: 'k', fingerprint: 'x' }))).toBe(1)
  })

  test('I15: is at most one request a second for each who waits', async () => {
    const idempotency = on(linked)
    const execution = await begin(on(direct), 'k')
    const before = link.requests('EVALSHA')
    const waiters = 5
    const seconds = 3
    const waiting = Array.from({ length: waiters }, () =>
      idempotency.begin({ key: 'k', fingerprint: 'x', waitMs: seconds * 1000 + 500 }),
    )
    for (const begun of await Promise.all(waiting)) expect(begun.state).toBe('in-progress')
    // One before they wait, one when they listen, and then one a second.
    const most = waiters * (2 + seconds)
    expect(link.requests('EVALSHA') - before).toBeLessThanOrEqual(most)
    await execution.complete(response)
  })

  test('I15: opens one connection more when somebody waits, and closes it with the store', async () => {
    const client = new Redis(inject('redisPort'), '127.0.0.1', { connectionName: prefix })
    const store = redisStore(client, { prefix })
    const idempotency = createIdempotency({ store, timeoutMs: 10_000 })
    const execution = await begin(idempotency, 'k')
    const channel = `${prefix}:idempotency:{:k}`
    const listeners = async () => Number((await direct.pubsub('NUMSUB', channel))[1])
    expect(await listeners()).toBe(0)
    const waiting = [1, 2, 3].map(() =>
      idempotency.begin({ key: 'k', fingerprint: 'x', waitMs: 20_000 }),
    )
    await eventually(async () => (await listeners()) === 1)
    await execution.complete(response)
    for (const begun of await Promise.all(waiting))
      expect(begun).toEqual({ state: 'replay', response })
    await eventually(async () => (await listeners()) === 0)
    const connections = async () => {
      const list = String(await direct.client('LIST'))
      return list.split('\n').filter((line) => line.includes(`name=${prefix}`)).length
    }
    expect(await connections()).toBe(2)
    await store.close()
    await eventually(async () => (await connections()) === 1)
    expect(client.status).toBe('ready')
    client.disconnect()
  })
})

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

function on(client: unknown): Idempotency {
  return createIdempotency({
    store: redisStore(client as RedisClient, { prefix }),
    timeoutMs: 10_000,
  })
}

async function begin(idempotency: Idempotency, key: string, scope?: string): Promise<Execution> {
  const named = scope === undefined ? { key } : { key, scope }
  const begun = await idempotency.begin({ ...named, fingerprint: 'x' })
  if (begun.state !== 'started') throw new Error(`${key} is ${begun.state}`)
  return begun.execution
}

async function unknownKeys(idempotency: Idempotency): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of idempotency.unknown()) keys.push(key)
  return keys
}

async function keysNow(): Promise<string[]> {
  return direct.keys(`${prefix}:idempotency:*`)
}
