import { type LockStore, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FlakyLink } from '../../support/flaky-link.ts'
import { RedisServer } from '../../support/redis-server.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

test('L6: whoever could not listen at first, or was cut off, is woken again later', async () => {
  await using link = await FlakyLink.to(server.port)
  const impatient = { maxRetriesPerRequest: 1, retryStrategy: () => 20 }
  const client = new Redis(link.port, '127.0.0.1', impatient)
  client.on('error', () => {})
  await client.ping()
  const store = redisStore(client)
  onTestFinished(async () => {
    await store.close()
    client.disconnect()
  })
  const lock = store.lock as LockStore
  link.refuse()
  let turns = 0
  const listening = lock.listen('k', 'w', () => turns++)
  await listening.ready
  expect(await listeners()).toBe(0)
  await link.accept()
  await eventually(async () => (await listeners()) === 1)
  await handOver(lock)
  await eventually(() => turns === 1)
  link.cut()
  await eventually(async () => {
    await handOver(lock)
    return turns > 1
  })
  listening.close()
})

async function listeners(): Promise<number> {
  return ((await server.command('PUBSUB', 'NUMSUB', 'sluice:lock:turn:w')) as [string, number])[1]
}

/** From one who does not listen to the one who does. */
async function handOver(lock: LockStore): Promise<void> {
  const claim = (token: string) => ({ token, leaseMs: 10_000, metadata: '' })
  await eventually(async () => (await lock.acquire(['k'], claim('a'))).state === 'granted')
  await lock.acquire(['k'], claim('b'), { waiter: 'w' })
  await lock.release(['k'], claim('a'))
  await lock.acquire(['k'], claim('b'), { waiter: 'w' })
  await lock.release(['k'], claim('b'))
}
