import { createDelayQueue, type RedisClient, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'

/** A worker over a Redis that goes away and one of a memory store, both closed: nothing may keep this process alive. */
const [port] = process.argv.slice(2)
const redis = new Redis(Number(port), '127.0.0.1')
redis.on('error', () => {})
const store = redisStore(redis as RedisClient)
const name = 'queue'
const queues = [createDelayQueue({ name }), createDelayQueue({ name, store, timeoutMs: 10_000 })]
for (const queue of queues) {
  for (const id of ['done', 'fails', 'never ends']) await queue.schedule(id, 0, { delayMs: 0 })
  await queue.schedule('far', 0, { delayMs: 1_000_000_000 })
  let running = (): void => {}
  const allRun = new Promise<void>((resolve) => {
    running = resolve
  })
  const seen = new Set<string>()
  const worker = queue.work(({ id }) => {
    if (seen.add(id).size === 3) running()
    if (id === 'fails') throw new Error('as it should')
    return id === 'done' ? undefined : new Promise(() => {})
  })
  try {
    queue.work(() => {}, { concurrency: -1 })
    throw new Error('it was taken')
  } catch (error) {
    if ((error as { code?: string }).code !== 'configuration') throw error
  }
  await allRun
  // What is settled from here on goes nowhere, and is tried again for minutes.
  if (queue === queues[1]) redis.disconnect()
  await worker.close({ graceMs: 0 })
}
await store.close()
