import { randomUUID } from 'node:crypto'
import { type LockGrant, type LockStore, redisStore, type Store } from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { command, fields } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { RedisServer } from '../support/redis-server.ts'
import { WithDeleteIfEqual } from './delete-if-equal.ts'
import { claimOf } from './lock-store/locks-under-test.ts'

const port = inject('redisPort')
const redis = new Redis(port)
beforeAll(() => () => redis.disconnect())

describe.each(['DELEX', 'DELIFEQ'] as const)('L1: where the server has %s', (name) => {
  test('it releases for those that poll, with a value as it stands there', async () => {
    const client = new WithDeleteIfEqual(redis, name)
    const store = await settled(client)
    for (const metadata of ['', '"ü"', '{"a":" "}']) {
      const { used, scripts } = client
      const grant = await grantOf(store, 'a', metadata)
      expect(await store.release(['k'], grant, true)).toBe(true)
      expect(client.used).toBe(used + 1)
      expect(client.scripts).toBe(scripts + 1)
      expect(await store.inspect('k')).toBeUndefined()
    }
  })

  test('it deletes no lock of another owner', async () => {
    const store = await settled(new WithDeleteIfEqual(redis, name))
    const lost = await grantOf(store, 'a')
    await store.release(['k'], lost)
    const { fence } = await grantOf(store, 'b')
    expect(await store.release(['k'], lost, true)).toBe(false)
    expect(await store.inspect('k')).toMatchObject({ fence })
  })

  test('somebody who stands in line is woken all the same', async () => {
    const client = new WithDeleteIfEqual(redis, name)
    const store = await settled(client)
    const grant = await grantOf(store, 'a')
    expect((await store.acquire(['k'], claimOf('b'), { waiter: 'w' })).state).toBe('held')
    expect(await store.release(['k'], grant, true)).toBe(true)
    expect((await store.acquire(['k'], claimOf('c'))).state).toBe('held')
    expect((await store.acquire(['k'], claimOf('b'), { waiter: 'w' })).state).toBe('granted')
  })

  test('scripts release for those that stand in line, and several locks', async () => {
    const client = new WithDeleteIfEqual(redis, name)
    const store = await settled(client)
    const { used } = client
    expect(await store.release(['k'], await grantOf(store, 'a'))).toBe(true)
    await store.acquire(['k', 'l'], claimOf('a'))
    expect(await store.release(['k', 'l'], { ...claimOf('a'), fence: 1 }, true)).toBe(true)
    expect(client.used).toBe(used)
  })

  test('a grant whose fence is ahead of the clock is released all the same', async () => {
    const client = new WithDeleteIfEqual(redis, name)
    const prefix = randomUUID()
    const store = await settled(client, prefix)
    await redis.set(`${prefix}:lock:{k}f`, String(Date.now() * 1000 + 3_600_000_000), 'PX', 10_000)
    expect(await store.release(['k'], await grantOf(store, 'a'), true)).toBe(true)
    expect(await store.inspect('k')).toBeUndefined()
  })

  test.each<[string, (reply: number) => unknown]>([
    ['text', (reply) => String(reply)],
    ['truth', (reply) => reply === 1],
    ['OK', () => 'OK'],
    ['1 in any case', () => 1],
    ['0 in any case', () => 0],
    ['nothing', () => null],
    [
      'an error',
      () => {
        throw new Error('ERR syntax error')
      },
    ],
  ])('where it replies with %s, scripts release', async (_, shape) => {
    const client = new WithDeleteIfEqual(redis, name)
    client.shape = shape
    const store = storeOn(client)
    for (let round = 0; round < 10; round++)
      expect(await store.release(['k'], await grantOf(store, 'a'), true)).toBe(true)
    expect(client.used).toBe(0)
  })

  test('a server that loses it, as after a failover, is asked by script in the same call', async () => {
    const client = new WithDeleteIfEqual(redis, name)
    const store = await settled(client)
    client.shape = () => {
      throw new Error("ERR unknown command 'DELEX', with args beginning with: ")
    }
    const lost = { ...(await grantOf(store, 'a')), token: 'another' }
    expect(await store.release(['k'], lost, true)).toBe(false)
    const { used } = client
    await store.release(['k'], claimOf('a'))
    expect(await store.release(['k'], await grantOf(store, 'b'), true)).toBe(true)
    expect(client.used).toBe(used)
  })
})

/** What the server under test has itself; one of the two tests below runs. */
const names = ['DELEX', 'DELIFEQ'] as const
const infos = await Promise.all(names.map((name) => command(port, 'COMMAND', 'INFO', name)))
const native = names.find((_, index) => (infos[index] as unknown[])[0])

describe('L1: on this server', () => {
  test.skipIf(native)('nothing deletes by value: asked for once, and scripts release', async () => {
    await using server = await RedisServer.start()
    const client = new Redis(server.port, '127.0.0.1')
    const store = redisStore(client)
    const probes = async () => (await client.keys('sluice:probe:*')).length
    await release(store)
    await eventually(async () => (await probes()) === names.length)
    for (let round = 0; round < 10; round++) await release(store)
    expect(await probes()).toBe(names.length)
    await store.close()
    client.disconnect()
  })

  test.skipIf(!native)('it releases for those that poll', async () => {
    await using server = await RedisServer.start()
    const client = new Redis(server.port, '127.0.0.1')
    const store = redisStore(client)
    const name = String(native).toLowerCase()
    await eventually(async () => {
      const before = await calls(client, name)
      await release(store)
      return (await calls(client, name)) === before + 1
    })
    const before = await calls(client, name)
    for (let round = 0; round < 10; round++) await release(store)
    expect(await calls(client, name)).toBe(before + 10)
    await store.close()
    client.disconnect()
  })
})

async function release({ lock }: Store): Promise<void> {
  const store = lock as LockStore
  expect(await store.release(['k'], await grantOf(store, 'a', '"ü"'), true)).toBe(true)
  expect(await store.inspect('k')).toBeUndefined()
}

async function calls(client: Redis, name: string): Promise<number> {
  const { [`cmdstat_${name}`]: stat = '' } = fields(await client.info('commandstats'))
  return Number(/calls=(\d+)/.exec(stat)?.[1] ?? 0)
}

function storeOn(client: WithDeleteIfEqual, prefix: string = randomUUID()): LockStore {
  const store = redisStore(client, { prefix })
  onTestFinished(() => store.close())
  return store.lock as LockStore
}

/** A store that has found out what its server can do. */
async function settled(client: WithDeleteIfEqual, prefix?: string): Promise<LockStore> {
  const store = storeOn(client, prefix)
  await eventually(async () => {
    await store.release(['k'], await grantOf(store, 'first'), true)
    return client.used > 0
  })
  return store
}

async function grantOf(store: LockStore, token: string, metadata = ''): Promise<LockGrant> {
  const claim = claimOf(token, metadata)
  const reply = await store.acquire(['k'], claim)
  if (reply.state !== 'granted') throw new Error(reply.state)
  return { ...claim, fence: reply.fence }
}
