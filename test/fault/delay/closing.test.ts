import { createDelayQueue, type DelayQueue, redisStore, type Worker } from '@sluice/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Connection, ioredis } from '../rate-limit/clients.ts'
import { type Place, place } from '../rate-limit/outages.ts'
import { Journal } from './journal.ts'
import { type Job, type Setup, WorkerProcess } from './worker-process.ts'

const HOUR_MS = 3_600_000
/** Neither sweeps nor visibilities play a part. */
const options = { name: 'queue', visibilityMs: HOUR_MS, sweepMs: HOUR_MS, timeoutMs: 10_000 }

let at: Place
let direct: Connection
let queue: DelayQueue<Job>
const workers: Worker[] = []

beforeEach(async () => {
  at = await place()
  direct = ioredis.open(at.server.port)
  queue = createDelayQueue<Job>({ ...options, store: redisStore(direct.redis) })
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close({ graceMs: 0 })
  await direct[Symbol.asyncDispose]()
  await at[Symbol.asyncDispose]()
})

test('D5: a process that is closed under load hands back what it has not done, and others run it at once', async () => {
  await using journal = await Journal.open()
  const setup: Setup = { ...options, concurrency: 8 }
  await using leaving = await WorkerProcess.start(at.server.port, journal, setup)
  const ids = Array.from({ length: 200 }, (_, index) => `task ${index}`)
  const jobOf = (index: number): Job => (index % 40 === 39 ? { do: 'hold' } : { do: 'take', ms: 5 })
  await Promise.all(ids.map((id, index) => queue.schedule(id, jobOf(index), { delayMs: 0 })))
  await leaving.work()
  await journal.until('ack', 30)
  const ran = new Map<string, number>()
  workers.push(queue.work(({ id, attempt }) => void ran.set(id, attempt)))
  await leaving.close(200)
  await eventually(async () => (await queue.stats()).processing === 0, { withinMs: 20_000 })
  expect(await queue.stats()).toMatchObject({ scheduled: 0, due: 0, dead: 0 })
  const lines = await journal.read()
  const acked = lines.filter(({ type }) => type === 'ack')
  const begun = new Set(lines.filter(({ type }) => type === 'run').map(({ idHash }) => idHash))
  expect(acked.every(({ found }) => found)).toBe(true)
  expect(acked.length + ran.size).toBe(200)
  const again = [...ran.values()].filter((attempt) => attempt === 2)
  expect(again).toHaveLength(begun.size - acked.length)
  expect([...ran.values()].filter((attempt) => attempt > 2)).toEqual([])
})

test('D5: what a closed worker has claimed and not begun gets its attempt back', async () => {
  await using client = ioredis.open(at.link.port)
  const linked = createDelayQueue<Job>({ ...options, store: redisStore(client.redis) })
  const seen: string[] = []
  const leaving = linked.work(({ id }) => seen.push(id))
  workers.push(leaving)
  await linked.schedule('warm', { do: 'fail' }, { delayMs: 0 })
  await eventually(async () => seen.length === 1 && (await queue.stats()).processing === 0)
  await queue.schedule('a', { do: 'fail' }, { delayMs: 1500 })
  await queue.schedule('b', { do: 'fail' }, { delayMs: 1500 })
  // The claim that has heard of them asks when they are due.
  await linked.schedule('nudge', { do: 'fail' }, { delayMs: 0 })
  await eventually(async () => seen.length === 2 && (await queue.stats()).processing === 0)
  at.link.stall()
  await eventually(async () => (await queue.stats()).processing === 2, { withinMs: 10_000 })
  const closed = leaving.close({ graceMs: 0 })
  const ran: string[] = []
  workers.push(queue.work(({ id, attempt }) => ran.push(`${id} ${attempt}`)))
  at.link.resume()
  await closed
  await eventually(() => ran.length === 2)
  expect(ran.sort()).toEqual(['a 1', 'b 1'])
  expect(seen).toEqual(['warm', 'nudge'])
})
