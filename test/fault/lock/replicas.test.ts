import {
  ConfigurationError,
  createLocker,
  type LockStore,
  redisStore,
  type Store,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'

let master: RedisServer
let replica: RedisServer

beforeAll(async () => {
  master = await RedisServer.start()
  replica = await RedisServer.start(['--replicaof', `127.0.0.1 ${master.port}`])
  await eventually(async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
  )
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await master[Symbol.asyncDispose]()
})

const clients = [
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
] as const

describe.each(clients)('L13: a lock that replicas must have, over %s', (name, connect) => {
  const key = `k-${name}`
  const locker = async (min: number, waitMs: number) =>
    createLocker({ store: await connect(), replicas: { min, waitMs } })
  const atReplica = () => replica.command('GET', `sluice:lock:{${key}}`)
  const nothingLeft = () =>
    eventually(async () => (await master.command('EXISTS', `sluice:lock:{${key}}`)) === 0)

  test('is granted when they have it', async () => {
    for (const keys of [key, [key, 'another']]) {
      const lease = await (await locker(1, 10_000)).acquire(keys)
      expect(await atReplica()).toContain(`${lease.token} ${lease.fence}`)
      expect(await lease.release()).toBe('released')
    }
  })

  test('is refused when there are too few, and given back', async () => {
    const refused = { code: 'store-unavailable', message: expect.stringContaining('1 of 2') }
    await expect((await locker(2, 100)).acquire(key)).rejects.toMatchObject(refused)
    await nothingLeft()
  })

  test('is refused while they stand still, and granted when they go on', async () => {
    const one = await locker(1, 100)
    replica.pause()
    try {
      await expect(one.acquire(key)).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringContaining('0 of 1'),
      })
      await nothingLeft()
    } finally {
      replica.resume()
    }
    const lease = await (await locker(1, 10_000)).acquire(key, { waitMs: 10_000 })
    expect(await lease.release()).toBe('released')
  })

  test('is granted when they go on in time', async () => {
    const one = await locker(1, 10_000)
    replica.pause()
    const acquiring = one.acquire(key)
    try {
      await eventually(async () => (await master.command('EXISTS', `sluice:lock:{${key}}`)) === 1)
      await isWaiting()
    } finally {
      replica.resume()
    }
    expect(await (await acquiring).release()).toBe('released')
  })

  test('counts no replica for a lease that the server does not know', async () => {
    const lock = (await connect()).lock as LockStore
    const grant = { token: 'lost', leaseMs: 1000 }
    expect(await lock.replicated?.([key], grant, 1, 1000)).toBe(0)
  })
})

test('L13: is nothing for a pool of connections, each of which knows of its own writes', async () => {
  const pool = createClientPool({ url: master.url })
  expect(() =>
    createLocker({ store: redisStore(pool), replicas: { min: 1, waitMs: 100 } }),
  ).toThrow(ConfigurationError)
})

/** A client of the master is held up by WAIT. */
function isWaiting(): Promise<unknown> {
  return eventually(async () =>
    /^blocked_clients:[1-9]/m.test(String(await master.command('INFO', 'clients'))),
  )
}

async function ioredis(): Promise<Store> {
  const client = new Redis(master.port, '127.0.0.1')
  return ended(redisStore(client), () => client.disconnect())
}

async function nodeRedis(): Promise<Store> {
  const client = createClient({ url: master.url })
  await client.connect()
  return ended(redisStore(client), () => client.destroy())
}

function ended(store: Store, disconnect: () => void): Store {
  onTestFinished(async () => {
    await store.close()
    disconnect()
  })
  return store
}
