import {
  createDelayQueue,
  type DelayQueue,
  redisStore,
  type TaskHandler,
  type Worker,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FlakyLink } from '../../support/flaky-link.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { Journal } from './journal.ts'
import { type Job, type Setup, WorkerProcess } from './worker-process.ts'

const VISIBILITY_MS = 1500
const HOUR_MS = 3_600_000

let server: RedisServer
let redis: Redis
let journal: Journal
let queue: DelayQueue<Job>
let setup: Setup
let queues = 0
const workers: Worker[] = []

beforeAll(async () => {
  server = await RedisServer.start()
  redis = new Redis(server.port, '127.0.0.1')
})
afterAll(async () => {
  redis.disconnect()
  await server[Symbol.asyncDispose]()
})
beforeEach(async () => {
  journal = await Journal.open()
  const options = { name: `queue ${++queues}`, visibilityMs: VISIBILITY_MS, timeoutMs: 10_000 }
  setup = { ...options, sweepMs: HOUR_MS, concurrency: 5 }
  queue = createDelayQueue({ ...options, sweepMs: HOUR_MS, store: redisStore(redis) })
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close({ graceMs: 0 })
  await journal[Symbol.asyncDispose]()
})

test('D2, D5, D9: a worker that stands still past its visibility loses its task, and cannot end the next run', async () => {
  await using sleeper = await WorkerProcess.start(server.port, journal, setup)
  await queue.schedule('a', { do: 'hold' }, { delayMs: 0 })
  await sleeper.work()
  await journal.until('run', 1)
  sleeper.pause()
  const second = takeOver()
  const [attempt, fence] = await second.begun
  expect(attempt).toBe(2)
  expect(fence).toBeGreaterThan((await journal.of('a', 'run'))[0]?.fence ?? Number.NaN)
  sleeper.resume()
  await journal.until('lease-lost', 1)
  await sleeper.finish()
  await journal.until('stale', 1)
  expect(await journal.of('a', 'ack')).toEqual([])
  expect(await queue.stats()).toMatchObject({ processing: 1, due: 0, dead: 0 })
  second.finish()
  await eventually(async () => (await queue.stats()).processing === 0)
  expect(await queue.schedule('a', { do: 'hold' }, { delayMs: HOUR_MS })).toBe('scheduled')
})

test('D5: a worker that stands still while its claim is under way runs nothing that others run by then', async () => {
  await using link = await FlakyLink.to(server.port)
  await using sleeper = await WorkerProcess.start(link.port, journal, setup)
  await queue.schedule('a', { do: 'take', ms: 0 }, { delayMs: 2500 })
  await queue.schedule('first', { do: 'take', ms: 0 }, { delayMs: 0 })
  await sleeper.work()
  await journal.until('ack', 1)
  // By now it knows when `a` is due, and will ask for it then.
  link.stall()
  await eventually(async () => (await queue.stats()).processing === 1, { withinMs: 20_000 })
  sleeper.pause()
  link.resume()
  const second = takeOver()
  expect(await second.begun).toEqual([2, expect.any(Number)])
  sleeper.resume()
  await journal.until('stale', 1)
  second.finish()
  await eventually(async () => (await queue.stats()).processing === 0)
  expect(await journal.of('a', 'run')).toEqual([])
})

test('D1: workers whose clocks are two hours ahead and a minute behind are on time, and keep to visibilities', async () => {
  setup = { ...setup, concurrency: 1 }
  const start = (clockOffsetMs: number) =>
    WorkerProcess.start(server.port, journal, setup, { clockOffsetMs })
  const [ahead, behind] = await Promise.all([start(2 * HOUR_MS), start(-60_000)])
  await using _ahead = ahead
  await using _behind = behind
  const job: Job = { do: 'take', ms: 1.5 * VISIBILITY_MS }
  const before = await serverMs()
  await ahead.schedule('one', job, 700)
  await behind.schedule('two', job, 700)
  await queue.schedule('three', job, { delayMs: 700 })
  await Promise.all([ahead.work(), behind.work()])
  const runs: number[] = []
  const due: number[] = []
  const handler: TaskHandler<Job> = async ({ attempt, dueAt, payload }) => {
    runs.push(attempt)
    due.push(dueAt.getTime())
    if (payload.do === 'take') await new Promise((resolve) => setTimeout(resolve, payload.ms))
  }
  workers.push(queue.work(handler, { concurrency: 1 }))
  await eventually(async () => (await queue.stats()).processing === 3, { withinMs: 20_000 })
  expect(await serverMs()).toBeGreaterThanOrEqual(before + 700)
  await eventually(async () => (await queue.stats()).processing === 0, { withinMs: 20_000 })
  const theirs = (await journal.read()).filter(({ type }) => type === 'run')
  expect([...runs, ...theirs.map(({ attempt }) => attempt)]).toEqual([1, 1, 1])
  expect(new Set(theirs.map(({ pid }) => pid)).size).toBe(2)
  for (const ms of due) expect(Math.abs(ms - before - 700)).toBeLessThan(30_000)
})

/** Runs the next task in this process, until it is told to finish. */
function takeOver(): { readonly begun: Promise<[attempt: number, fence: number]>; finish(): void } {
  let finish = (): void => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const begun = new Promise<[attempt: number, fence: number]>((resolve) => {
    const worker = queue.work(({ attempt, fence }) => {
      resolve([attempt, fence])
      return finished
    })
    workers.push(worker)
  })
  return { begun, finish }
}

async function serverMs(): Promise<number> {
  const [seconds, microseconds] = await redis.time()
  return Number(seconds) * 1000 + Number(microseconds) / 1000
}
