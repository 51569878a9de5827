import {
  createDelayQueue,
  type DelayEvent,
  type DelayQueue,
  LeaseLostError,
  redisStore,
  StoreUnavailableError,
  subscribe,
  type Task,
} from '@sluice/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FlakyLink } from '../../support/flaky-link.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { type ClientKind, clientKinds } from '../rate-limit/clients.ts'

const HOUR_MS = 3_600_000
/** A claim that was lost waits for it. No sweep helps. */
const options = { visibilityMs: 3000, sweepMs: HOUR_MS, backoff: () => 0, maxAttempts: 4 }

let server: RedisServer
const events: DelayEvent[] = []
let stop = (): void => {}

beforeAll(async () => {
  server = await RedisServer.start()
  stop = subscribe('sluice:delay', (event) => events.push(event))
})
afterAll(async () => {
  stop()
  await server[Symbol.asyncDispose]()
})

test.concurrent.each(clientKinds)(
  'D2, D4, D9: a task that $name schedules and runs comes to its end, whichever message is lost',
  async (kind) => {
    const undisturbed = await converse(kind)
    expect(undisturbed).toBeGreaterThanOrEqual(6) // schedule, claim, extend, retry, claim, ack
    const losses = Array.from({ length: undisturbed }, (_, index) => [
      converse(kind, (link) => link.dropRequest(index + 1, 'EVALSHA')),
      converse(kind, (link) => link.dropReply(index + 1, 'EVALSHA')),
    ])
    await Promise.all(losses.flat())
  },
)

let queues = 0

/** Schedules a task, which fails at first; returns how many scripts were called. */
async function converse(kind: ClientKind, lose?: (link: FlakyLink) => unknown): Promise<number> {
  await using link = await FlakyLink.to(server.port)
  await using client = kind.open(link.port)
  await eventually(() => client.isReady(), { withinMs: 20_000 })
  const store = redisStore(client.redis)
  const name = `queue ${++queues}`
  const queue = createDelayQueue({ name, store, ...options })
  lose?.(link)
  const runs: number[] = []
  const replies = await scheduleSurely(queue)
  const worker = queue.work(async (task) => {
    runs.push(task.attempt)
    await extend(task)
    if (runs.length === 1) throw new Error('as it should')
  })
  const acks = () => events.filter(({ type, queue: of }) => type === 'ack' && of === name)
  await eventually(() => acks().length === 1, { withinMs: 30_000 })
  await worker.close()
  const none = { scheduled: 0, due: 0, processing: 0, dead: 0 }
  await eventually(async () => expect(await queue.stats()).toMatchObject(none))
  expect(acks()).toHaveLength(1)
  // The second to know is told that it exists; of one that was answered at once there is but one.
  expect(replies.filter((reply) => reply === 'scheduled').length).toBeLessThanOrEqual(1)
  // A claim that was lost counts; nothing else does, and no run is repeated.
  expect(runs).toHaveLength(2)
  expect(runs[1]).toBeLessThanOrEqual(lose ? 3 : 2)
  expect(runs[1]).toBeGreaterThan(runs[0] ?? Number.NaN)
  await store.close()
  return link.requests('EVALSHA')
}

/** As an application should: again, until the store has answered. */
async function scheduleSurely(queue: DelayQueue<unknown>): Promise<readonly string[]> {
  const replies: string[] = []
  await eventually(
    async () => {
      replies.push(await queue.schedule('task', 7, { delayMs: 0 }))
    },
    { withinMs: 30_000 },
  )
  return replies
}

async function extend(task: Task<unknown>): Promise<void> {
  await task.extend().catch((error: unknown) => {
    if (!(error instanceof StoreUnavailableError)) throw error
    expect(error).not.toBeInstanceOf(LeaseLostError)
  })
}
