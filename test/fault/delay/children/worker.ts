import { appendFileSync } from 'node:fs'
import {
  createDelayQueue,
  hashKey,
  type RedisClient,
  redisStore,
  subscribe,
  type Task,
  type Worker,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { answerParent } from '../../../support/answer-parent.ts'
import type { Job, Line, Order, Setup } from '../worker-process.ts'

/** A process whose worker does as the payloads say, and writes all of it down before anything else can happen. */
const [port, journal, setup] = process.argv.slice(2)
const { concurrency, ...options } = JSON.parse(String(setup)) as Setup
const redis = new Redis(Number(port), '127.0.0.1')
redis.on('error', () => {})
const queue = createDelayQueue<Job>({ ...options, store: redisStore(redis as RedisClient) })
subscribe('sluice:delay', ({ queue: _, ...event }) => note(event))
let worker: Worker | undefined
let finish = (): void => {}
const finished = new Promise<void>((resolve) => {
  finish = resolve
})

answerParent(async (order: Order) => {
  switch (order.do) {
    case 'work':
      worker = queue.work(run, { concurrency })
      return
    case 'finish':
      return finish()
    case 'schedule':
      return queue.schedule(order.id, order.job, { delayMs: order.delayMs })
    case 'close':
      return worker?.close({ graceMs: order.graceMs })
  }
})

async function run({ id, attempt, fence, payload }: Task<Job>): Promise<void> {
  const about = { idHash: hashKey(id), attempt, fence }
  note({ type: 'run', ...about })
  await work(payload)
  note({ type: 'finished', ...about })
}

async function work(job: Job): Promise<void> {
  if (job.do === 'fail') throw new Error('as it should')
  if (job.do === 'die') process.kill(process.pid, 'SIGKILL')
  if (job.do === 'hold') await finished
  if (job.do === 'take') await new Promise((resolve) => setTimeout(resolve, job.ms))
}

function note(line: Omit<Line, 'pid'>): void {
  appendFileSync(String(journal), `${JSON.stringify({ pid: process.pid, ...line })}\n`)
}
