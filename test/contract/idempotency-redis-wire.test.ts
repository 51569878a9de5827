import { createIdempotency, type Execution, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { FlakyLink } from '../support/flaky-link.ts'
import { begin, connect, direct, on, prefix, prefixEach, response } from './idempotency-on-redis.ts'

let link: FlakyLink
/** Its requests are counted. */
let linked: Redis

connect()
prefixEach()
beforeAll(async () => {
  link = await FlakyLink.to(inject('redisPort'))
  linked = new Redis(link.port, '127.0.0.1')
  await linked.ping()
})
afterAll(async () => {
  linked.disconnect()
  await link[Symbol.asyncDispose]()
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
