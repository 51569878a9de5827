import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createDelayQueue,
  type DelayEvent,
  type DelayQueueOptions,
  type DelayStore,
  LeaseLostError,
  type Store,
  StoreUnavailableError,
  subscribe,
  type Task,
  type TaskClaimReply,
  type TaskHandler,
  type Worker,
} from '../../src/index.ts'
import { distantStore, gate } from './distant-store.ts'

const HOUR_MS = 3_600_000
const TEN_YEARS_MS = 3_653 * 86_400_000

let events: DelayEvent[]
let stop: () => void
const workers: Worker[] = []

beforeEach(() => {
  events = []
  stop = subscribe('sluice:delay', (event) => events.push(event))
})
afterEach(async () => {
  vi.useRealTimers()
  stop()
  for (const worker of workers.splice(0)) await worker.close({ graceMs: 0 })
})

/** Sweeps play no part unless a test says so. */
function queueOn(store: Store, options: Partial<DelayQueueOptions> = {}) {
  const rare = { sweepMs: HOUR_MS, timeoutMs: 10_000, backoff: () => 0 }
  return createDelayQueue({ name: 'queue', store, ...rare, ...options })
}

function work(queue: ReturnType<typeof queueOn>, handler: TaskHandler<unknown>): Worker {
  const worker = queue.work(handler)
  workers.push(worker)
  return worker
}

/** For what announces itself by no event. */
const until = (check: () => boolean) => vi.waitUntil(check, { timeout: 10_000, interval: 5 })

const types = () => events.map(({ type }) => type)

describe('a process with a worker', () => {
  test('D5: lives until its worker is closed, and ends then', async () => {
    const script = fileURLToPath(new URL('children/one-task.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script])
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(printed).toBe('ran late\n')
    expect(code).toBe(0)
  }, 20_000)
})

describe('a worker that is told nothing', () => {
  const deaf = (): Partial<DelayStore> => ({
    watch: () => ({ ready: Promise.resolve(), close: () => {} }),
  })

  test('D4: finds a task by its sweep', async () => {
    const queue = queueOn(distantStore(deaf), { sweepMs: 50 })
    const ran: string[] = []
    work(queue, ({ id }) => ran.push(id))
    await queue.schedule('first', 0, { delayMs: 0 })
    await until(() => ran.length === 1)
    await queue.schedule('second', 0, { delayMs: 0 })
    await until(() => ran.length === 2)
  })

  test('D4: wakes by itself when the next task is due', async () => {
    const queue = queueOn(distantStore(deaf))
    const ran: string[] = []
    await queue.schedule('a', 0, { delayMs: 100 })
    await queue.schedule('b', 0, { delayMs: 200 })
    work(queue, ({ id }) => ran.push(id))
    await until(() => ran.length === 2)
    expect(ran).toEqual(['a', 'b'])
  })

  test('D4: wakes by itself when a visibility ends', async () => {
    const store = distantStore(deaf)
    const queue = queueOn(store)
    await queue.schedule('a', 0, { delayMs: 0 })
    await store.delay?.claim('queue', { max: 1, visibilityMs: 200, maxAttempts: 5 })
    const attempts: number[] = []
    work(queue, ({ attempt }) => attempts.push(attempt))
    await until(() => attempts.length === 1)
    expect(attempts).toEqual([2])
  })
})

describe('a claim', () => {
  test('D7: is made no more than twice a year when nothing is due for ten years', async () => {
    vi.useFakeTimers()
    let claims = 0
    const store = distantStore((real) => ({
      claim: (...args) => {
        claims++
        return real.claim(...args)
      },
    }))
    const queue = queueOn(store, { sweepMs: TEN_YEARS_MS })
    await queue.schedule('far', 0, { delayMs: TEN_YEARS_MS })
    const ran: string[] = []
    work(queue, ({ id }) => ran.push(id))
    await vi.advanceTimersByTimeAsync(TEN_YEARS_MS / 10)
    expect(claims).toBeGreaterThan(0)
    expect(claims).toBeLessThanOrEqual(2)
    await vi.advanceTimersByTimeAsync((TEN_YEARS_MS / 10) * 9 + 1000)
    expect(ran).toEqual(['far'])
  })

  test('D4: that fails is made again, until the store is back', async () => {
    let failures = 0
    const store = distantStore((real) => ({
      claim: (...args) => {
        if (failures < 4) {
          failures++
          return Promise.reject(new Error('away'))
        }
        return real.claim(...args)
      },
    }))
    const queue = queueOn(store)
    const ran: string[] = []
    work(queue, ({ id }) => ran.push(id))
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => ran.length === 1)
    expect(failures).toBe(4)
  })

  test('D4: that arrives when its worker has given up is handed back, its attempt with it', async () => {
    const { opened, open } = gate()
    let claims = 0
    const store = distantStore((real) => ({
      claim: async (...args) => {
        const late = ++claims === 1
        const reply = await real.claim(...args)
        if (late) await opened
        return reply
      },
    }))
    const queue = queueOn(store, { timeoutMs: 50 })
    await queue.schedule('a', 0, { delayMs: 0 })
    const attempts: number[] = []
    work(queue, ({ attempt }) => attempts.push(attempt))
    await until(() => claims > 1)
    expect(attempts).toEqual([])
    open()
    await until(() => attempts.length === 1)
    expect(attempts).toEqual([1])
    expect(events[0]).toMatchObject({ type: 'returned', reason: 'late', attempted: false })
  })

  test('D4: that fails is followed by smaller ones, until one gets through', async () => {
    const asked: number[] = []
    const store = distantStore((real) => ({
      claim: (queue, claim) => {
        asked.push(claim.max)
        // Too much for the line, from here on.
        return claim.max > 20 ? Promise.reject(new Error('late')) : real.claim(queue, claim)
      },
    }))
    const queue = queueOn(store)
    await queue.schedule('a', 0, { delayMs: 0 })
    const ran: string[] = []
    workers.push(queue.work(({ id }) => ran.push(id), { concurrency: 300 }))
    await until(() => ran.length === 1)
    expect(asked.slice(0, 4)).toEqual([100, 50, 25, 12])
  })

  test('D4: under way when an earlier task comes is followed by another one', async () => {
    const { opened, open } = gate()
    const replies: TaskClaimReply[] = []
    const store = distantStore((real) => ({
      claim: async (...args): Promise<TaskClaimReply> => {
        const reply = await real.claim(...args)
        replies.push(reply)
        if (replies.length === 1) await opened
        return reply
      },
    }))
    const queue = queueOn(store)
    await queue.schedule('far', 0, { delayMs: HOUR_MS })
    const ran: string[] = []
    work(queue, ({ id }) => ran.push(id))
    await until(() => replies.length === 1)
    await queue.schedule('now', 0, { delayMs: 0 })
    open()
    await until(() => ran.length === 1)
  })

  test('D5: under way when its worker is closed is handed back, its attempt with it', async () => {
    const { opened, open } = gate()
    let claims = 0
    const store = distantStore((real) => ({
      claim: async (...args) => {
        const reply = await real.claim(...args)
        if (++claims === 1) await opened
        return reply
      },
    }))
    const queue = queueOn(store)
    await queue.schedule('a', 0, { delayMs: 0 })
    const ran: number[] = []
    const closing = work(queue, ({ attempt }) => ran.push(attempt))
    await until(() => claims === 1)
    const closed = closing.close({ graceMs: 0 })
    open()
    await closed
    expect(ran).toEqual([])
    expect(await queue.stats()).toMatchObject({ due: 1, processing: 0 })
    expect(events).toMatchObject([{ type: 'returned', reason: 'closed', attempted: false }])
    work(queue, ({ attempt }) => ran.push(attempt))
    await until(() => ran.length === 1)
    expect(ran).toEqual([1])
  })
})

describe('a run', () => {
  const losses: readonly (readonly [string, () => Promise<boolean>])[] = [
    ['silence', () => Promise.reject(new Error('away'))],
    ['taken', async () => false],
  ]
  test.each(losses)('D5: is told when its visibility is lost: %s', async (reason, extend) => {
    const queue = queueOn(
      distantStore(() => ({ extend })),
      { visibilityMs: 1000 },
    )
    const { opened, open } = gate()
    const reasons: unknown[] = []
    const closing = work(queue, ({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      return opened
    })
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => reasons.length === 1)
    expect(reasons).toEqual([expect.any(LeaseLostError)])
    expect(reasons).toMatchObject([{ reason }])
    const lost = events.findIndex(({ type }) => type === 'lease-lost')
    expect(events[lost]).toMatchObject({ reason, attempt: 1 })
    // Nobody else has claimed it yet: what was done is done, unless the store said that the run is over.
    const settledBefore = types().length
    open()
    await closing.close()
    expect(
      types()
        .slice(settledBefore)
        .filter((type) => type === 'ack'),
    ).toHaveLength(reason === 'silence' ? 1 : 0)
  })

  test('D2: that was lost cannot end the next one', async () => {
    const store = distantStore(() => ({ extend: () => Promise.reject(new Error('away')) }))
    const queue = queueOn(store, { visibilityMs: 200 })
    const gates = [gate(), gate()]
    const fences: number[] = []
    work(queue, ({ fence }) => {
      fences.push(fence)
      return gates[fences.length - 1]?.opened
    })
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => fences.length === 2)
    expect(fences[1]).toBeGreaterThan(fences[0] ?? Number.NaN)
    gates[0]?.open()
    await until(() => types().includes('stale'))
    expect(events.find(({ type }) => type === 'stale')).toMatchObject({ attempt: 1, end: 'done' })
    expect(types()).not.toContain('ack')
    gates[1]?.open()
    await until(() => types().includes('ack'))
  })

  test('D5: extends its visibility when it says so', async () => {
    let answer: () => Promise<boolean> = async () => true
    let extensions = 0
    const store = distantStore(() => ({
      extend: () => {
        extensions++
        return answer()
      },
    }))
    const queue = queueOn(store)
    const tasks: Task<unknown>[] = []
    const { opened, open } = gate()
    work(queue, (task) => {
      tasks.push(task)
      return opened
    })
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => tasks.length === 1)
    const [task] = tasks
    await task?.extend()
    expect(extensions).toBe(1)
    answer = () => Promise.reject(new Error('away'))
    await expect(task?.extend()).rejects.toThrow(StoreUnavailableError)
    expect(task?.signal.aborted).toBe(false)
    answer = async () => false
    await expect(task?.extend()).rejects.toThrow(LeaseLostError)
    expect(task?.signal.aborted).toBe(true)
    await expect(task?.extend()).rejects.toMatchObject({ reason: 'taken' })
    expect(extensions).toBe(3)
    open()
  })

  test('D4: whose end does not reach the store tells it again and again', async () => {
    let failures = 0
    const store = distantStore((real) => ({
      settle: (...args) => {
        if (failures < 3) {
          failures++
          return Promise.reject(new Error('away'))
        }
        return real.settle(...args)
      },
    }))
    const queue = queueOn(store)
    const closing = work(queue, () => {})
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => failures === 1)
    await closing.close() // waits as long as the grace allows
    expect(types()).toEqual(['claim', 'settlement-delayed', 'settlement-retried', 'ack'])
    expect(events[2]).toMatchObject({ end: 'done', outcome: 'settled' })
    expect(await queue.stats()).toMatchObject({ processing: 0, due: 0 })
  })

  test('D4: whose first message got through without a reply is no error', async () => {
    let replies = 0
    const store = distantStore((real) => ({
      settle: async (...args) => {
        const reply = await real.settle(...args)
        if (++replies === 1) throw new Error('the reply was lost')
        return reply
      },
    }))
    const queue = queueOn(store)
    work(queue, () => {})
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => types().includes('ack'))
    expect(events.at(-2)).toMatchObject({ type: 'settlement-retried', outcome: 'gone' })
    expect(events.at(-1)).toMatchObject({ type: 'ack', found: false })
  })

  test('D5: close comes to an end although the store is away', async () => {
    const store = distantStore(() => ({ settle: () => new Promise(() => {}) }))
    const queue = queueOn(store, { timeoutMs: 50 })
    const closing = work(queue, () => new Promise(() => {}))
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => types().includes('claim'))
    await closing.close({ graceMs: 20 })
    expect(types()).toEqual(['claim', 'settlement-delayed'])
  })

  test('D5: a second close shortens the grace', async () => {
    const queue = queueOn(distantStore())
    const closing = work(queue, () => new Promise(() => {}))
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => types().includes('claim'))
    const patient = closing.close({ graceMs: HOUR_MS })
    await closing.close({ graceMs: 0 })
    await patient
    expect(await queue.stats()).toMatchObject({ processing: 0, due: 1 })
  })

  test('D6: of a payload that is no JSON fails, and the handler does not see it', async () => {
    const store = distantStore()
    const queue = queueOn(store, { maxAttempts: 2 })
    const ran: string[] = []
    work(queue, ({ id }) => ran.push(id))
    await store.delay?.schedule('queue', { id: 'odd', payload: '{', due: { delayMs: 0 } })
    await until(() => types().includes('dead'))
    expect(ran).toEqual([])
    expect(events.at(-1)).toMatchObject({ attempt: 2, error: { name: 'SyntaxError' } })
  })
})
