import { randomUUID } from 'node:crypto'
import { type LockStore, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  onTestFinished,
  test,
} from 'vitest'
import { fields } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { FlakyLink } from '../support/flaky-link.ts'
import { RedisServer } from '../support/redis-server.ts'
import { lockOn } from './lock-on.ts'
import { claimOf, LEASE_MS } from './lock-store/locks-under-test.ts'

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

describe('what is in Redis', () => {
  test('is named by the key inside one hash tag, or by the tag that the key brings along', async () => {
    const store = lockOn(direct, prefix)
    const keys = ['a', 'a {b}: *ü', '{tag}:one', '{tag}:two', 'k'.repeat(500), '{}', '{ }x']
    for (const key of keys) {
      await store.acquire([key], claimOf('a'))
      await store.acquire([key], claimOf('b'), { waiter: 'w' })
    }
    const found = await keysNow()
    expect(found).toHaveLength(3 * keys.length)
    for (const key of found) {
      expect(key).toMatch(/^test-[\w-]+:lock:\{[^{}*?: ]+\}[fw]?(:[^{}*?: ]+)?$/)
      expect(key.length).toBeLessThan(300)
    }
    expect(found).toContain(`${prefix}:lock:{a}`)
    expect(found).toContain(`${prefix}:lock:{tag}:%7btag%7d%3aone`)
  })

  test('L2: a fence stays for at least 24 hours, longer than its lease', async () => {
    const store = lockOn(direct, prefix)
    await store.acquire(['a'], claimOf('a'))
    await store.acquire(['b', 'c'], claimOf('a'))
    for (const key of ['a', 'b', 'c']) {
      const fence = await direct.pttl(`${prefix}:lock:{${key}}f`)
      expect(fence).toBeGreaterThanOrEqual(24 * 3_600_000)
      const lease = await direct.pttl(`${prefix}:lock:{${key}}`)
      expect(lease).toBeGreaterThan(0)
      expect(lease).toBeLessThanOrEqual(LEASE_MS)
    }
  })

  test('L2: fences rise although the last one was deleted, or is no number', async () => {
    const store = lockOn(direct, prefix)
    let last = 0
    for (const spoil of [
      () => direct.del(`${prefix}:lock:{a}f`),
      () => direct.set(`${prefix}:lock:{a}f`, 'x', 'PX', 10_000),
      () => direct.set(`${prefix}:lock:{a}f`, '1e300', 'PX', 10_000),
      () => direct.set(`${prefix}:lock:{a}f`, 'nan', 'PX', 10_000),
      () => direct.set(`${prefix}:lock:{a}f`, String(last + 1e9), 'PX', 10_000),
      () => direct.persist(`${prefix}:lock:{a}f`),
    ]) {
      last = await fenceOf(store, 'a')
      await spoil()
      expect(await fenceOf(store, 'a')).toBeGreaterThan(last)
      expect(await direct.pttl(`${prefix}:lock:{a}f`)).toBeGreaterThan(0)
    }
  })

  test('L1: nothing but what the token of the holder says: a lock that lost its TTL is free after a lease', async () => {
    const store = lockOn(direct, prefix)
    await store.acquire(['a'], claimOf('a'))
    await direct.persist(`${prefix}:lock:{a}`)
    const reply = await store.acquire(['a'], claimOf('b'))
    expect(reply).toEqual({ state: 'held', leftMs: LEASE_MS })
    expect(await direct.pttl(`${prefix}:lock:{a}`)).toBeGreaterThan(0)
  })

  test.each(['', 'f', 'w'])(
    'a key of another type where a lock’s (%s) should be is an error, and stays as it is',
    async (suffix) => {
      const store = lockOn(direct, prefix)
      const name = `${prefix}:lock:{a}${suffix}`
      await direct.rpush(name, 'x')
      await expect(store.acquire(['a'], claimOf('a'), { waiter: 'w' })).rejects.toThrow('WRONGTYPE')
      await expect(store.acquire(['a', 'b'], claimOf('a'))).rejects.toThrow('WRONGTYPE')
      expect(await direct.lrange(name, 0, -1)).toEqual(['x'])
      if (suffix !== 'f') expect(await direct.exists(`${prefix}:lock:{a}f`)).toBe(0)
      expect(await direct.exists(`${prefix}:lock:{b}`)).toBe(0)
      await direct.del(name)
      expect((await store.acquire(['a'], claimOf('a'))).state).toBe('granted')
    },
  )

  test('is found and heard of by clients that prefix every key themselves', async () => {
    const prefixed = new Redis(inject('redisPort'), '127.0.0.1', { keyPrefix: '{app}:' })
    onTestFinished(() => prefixed.disconnect())
    const store = lockOn(prefixed, prefix)
    await store.acquire(['a'], claimOf('a'))
    await store.acquire(['a'], claimOf('b'), { waiter: 'w' })
    const turn = new Promise<void>((resolve) => {
      const listening = store.listen('a', 'w', resolve)
      void listening.ready.then(() => store.release(['a'], claimOf('a')))
    })
    await turn
    expect((await store.acquire(['a'], claimOf('b'), { waiter: 'w' })).state).toBe('granted')
    expect(await store.release(['a'], { ...claimOf('b'), fence: 1 }, true)).toBe(true)
    expect(await keysNow()).toEqual([])
    expect((await direct.keys(`{app}:${prefix}:lock:*`)).length).toBe(1)
    await direct.del(await direct.keys(`{app}:${prefix}:*`))
  })
})

describe('what goes over the wire', () => {
  test('is one round trip for each step', async () => {
    const store = lockOn(linked, prefix)
    const claim = claimOf('a')
    await store.acquire(['warm'], claim)
    await store.release(['warm'], claim)
    const steps: readonly (() => Promise<unknown>)[] = [
      () => store.acquire(['a'], claim),
      () => store.acquire(['a'], claimOf('b')),
      () => store.extend(['a'], { ...claim, fence: 1 }, 1000),
      () => store.inspect('a'),
      () => store.release(['a'], claim),
      () => store.acquire(['a', 'b', 'c'], claim),
      () => store.release(['a', 'b', 'c'], claim),
    ]
    for (const step of steps) await step() // introduces the scripts
    for (const step of steps) {
      const before = link.requests()
      await step()
      expect(link.requests() - before).toBe(1)
    }
  })

  test('a flushed script cache costs one round trip more, and nothing else', async () => {
    await using server = await RedisServer.start()
    const client = new Redis(server.port, '127.0.0.1')
    const store = lockOn(client, prefix)
    const turns: string[] = []
    const listening = store.listen('a', 'w', () => turns.push('w'))
    await listening.ready
    const flush = () => client.script('FLUSH')
    await flush()
    expect((await store.acquire(['a'], claimOf('a'))).state).toBe('granted')
    await flush()
    expect((await store.acquire(['a'], claimOf('b'), { waiter: 'w' })).state).toBe('held')
    await flush()
    expect(await store.extend(['a'], { ...claimOf('a'), fence: 1 }, 1000)).toBe(true)
    await flush()
    expect(await store.release(['a'], claimOf('a'))).toBe(true)
    await eventually(() => turns.length === 1)
    await flush()
    const { next } = await store.pass(
      'a',
      { ...claimOf('x'), fence: 1 },
      claimOf('b'),
      { waiter: 'w' },
      true,
    )
    expect(next.state).toBe('granted')
    await flush()
    await store.leave('a', 'w')
    await flush()
    expect(await store.inspect('a')).toBeDefined()
    await flush()
    expect((await store.acquire(['a', 'b'], claimOf('b'))).state).toBe('granted')
    listening.close()
    client.disconnect()
  })

  test('L7: few commands run inside of the scripts of an uncontended lock', async () => {
    await using server = await RedisServer.start()
    const client = new Redis(server.port, '127.0.0.1')
    const store = lockOn(client, prefix)
    await store.acquire(['a'], claimOf('a'))
    await store.release(['a'], claimOf('a'))
    await client.config('RESETSTAT')
    for (let round = 0; round < 10; round++) {
      await store.acquire(['a'], claimOf('a'))
      await store.release(['a'], claimOf('a'))
    }
    const stats = fields(await client.info('commandstats'))
    const calls = Object.entries(stats)
      .filter(([name]) => name.startsWith('cmdstat_') && !/config|info|evalsha/.test(name))
      .reduce((sum, [, stat]) => sum + Number(/calls=(\d+)/.exec(stat)?.[1]), 0)
    expect(calls).toBeLessThanOrEqual(10 * 7)
    client.disconnect()
  })

  test('L6: one connection more serves all who wait, on one channel; the store closes it', async () => {
    const client = new Redis(inject('redisPort'), '127.0.0.1', { connectionName: prefix })
    onTestFinished(() => client.disconnect())
    const store = redisStore(client, { prefix })
    const lock = store.lock as LockStore
    const connections = async () => {
      const list = String(await direct.client('LIST'))
      return list.split('\n').filter((line) => line.includes(`name=${prefix}`)).length
    }
    const channels = () => direct.pubsub('CHANNELS', `${prefix}*`)
    await lock.acquire(['a'], claimOf('a'))
    expect(await connections()).toBe(1)
    const listenings = ['a', 'b', 'c'].map((key) => lock.listen(key, 'w', () => {}))
    for (const { ready } of listenings) await ready
    expect(await connections()).toBe(2)
    expect(await channels()).toEqual([`${prefix}:lock:turn:w`])
    for (const listening of listenings) listening.close()
    const another = lock.listen('a', 'w2', () => {})
    await another.ready
    another.close()
    await eventually(async () => (await channels()).length === 1)
    await store.close()
    await eventually(async () => (await connections()) === 1)
  })
})

async function fenceOf(store: LockStore, key: string): Promise<number> {
  const reply = await store.acquire([key], claimOf('x'))
  if (reply.state !== 'granted') throw new Error(reply.state)
  await store.release([key], claimOf('x'))
  return reply.fence
}

async function keysNow(): Promise<string[]> {
  return (await direct.keys(`${prefix}:lock:*`)).sort()
}
