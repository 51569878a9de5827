import { randomUUID } from 'node:crypto'
import {
  createDelayQueue,
  type DelayEvent,
  type DelayQueueOptions,
  hashKey,
  memoryStore,
  type Store,
  subscribe,
  type Task,
  type TaskHandler,
  type Worker,
  WorkerClosedError,
  type WorkOptions,
} from '@sluice/core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'

/** A store under test, by the clock on the wall. */
export interface QueuePlace extends AsyncDisposable {
  readonly store: Store
}

const HOUR_MS = 3_600_000

/** What queues and their workers must do, on every store. */
export function delayQueueContract(name: string, open: () => Promise<QueuePlace>): void {
  describe(`a delay queue: ${name}`, () => {
    let place: QueuePlace
    let queueName: string
    const workers: Worker[] = []
    beforeAll(async () => {
      place = await open()
    })
    afterAll(() => place[Symbol.asyncDispose]())
    beforeEach(() => {
      queueName = `queue ${randomUUID()}`
    })
    afterEach(async () => {
      for (const worker of workers.splice(0)) await worker.close({ graceMs: 0 })
    })

    /** Sweeps play no part unless a test says so. */
    function queue(options: Partial<DelayQueueOptions> = {}) {
      const rare = { sweepMs: HOUR_MS, timeoutMs: 10_000, backoff: () => 0 }
      return createDelayQueue({ name: queueName, store: place.store, ...rare, ...options })
    }

    type Queue = ReturnType<typeof queue>

    function work(at: Queue, handler: TaskHandler<unknown>, options?: WorkOptions): Worker {
      const worker = at.work(handler, options)
      workers.push(worker)
      return worker
    }

    /** A worker that has run one task, and sleeps now. `busy`: tasks that others are running. */
    async function idleWorker(at: Queue, handler: TaskHandler<unknown>, busy = 0): Promise<void> {
      let ready = (): void => {}
      const isReady = new Promise<void>((resolve) => {
        ready = resolve
      })
      work(at, (task) => (task.id === 'idle' ? ready() : handler(task)))
      await at.schedule('idle', 0, { delayMs: 0 })
      await isReady
      await eventually(async () => (await at.stats()).processing === busy)
    }

    test('D7: runs tasks when they are due, and tells them all', async () => {
      const tasks: Task<unknown>[] = []
      const at = queue()
      const before = Date.now()
      await at.schedule('c', { n: 3 }, { at: new Date(before + 300) })
      await at.schedule('b', { n: 2 }, { delayMs: 150 })
      await at.schedule('a', { n: 1 }, { at: 0 })
      work(at, (task) => tasks.push(task))
      await eventually(() => tasks.length === 3)
      expect(tasks.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
      expect(tasks.map(({ payload }) => payload)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
      for (const task of tasks) {
        expect(task.attempt).toBe(1)
        expect(task.fence).toBeGreaterThan((before - 60_000) * 1000)
        expect(Date.now()).toBeGreaterThanOrEqual(task.dueAt.getTime())
      }
      expect(tasks[2]?.dueAt.getTime()).toSatisfy((ms: number) => Math.abs(ms - before - 300) <= 2)
      await eventually(async () => (await at.stats()).processing === 0)
    })

    test('D4: a worker that sleeps is woken by a task that is due before', async () => {
      const ran: string[] = []
      const at = queue()
      await at.schedule('far', 0, { delayMs: HOUR_MS })
      await idleWorker(at, (task) => ran.push(task.id))
      await at.schedule('soon', 0, { delayMs: 200 })
      await at.schedule('now', 0, { delayMs: 0 })
      await eventually(() => ran.length === 2)
      expect(ran).toEqual(['now', 'soon'])
    })

    test('D4: a worker that sleeps is woken by retries, redrives and what is handed back', async () => {
      const ran: string[] = []
      const at = queue({ maxAttempts: 2 })
      const handler: TaskHandler<unknown> = ({ id, signal }) => {
        if (id === 'fails') throw new Error('as it should')
        return new Promise((resolve) => signal.addEventListener('abort', resolve))
      }
      const closing = work(at, handler, { concurrency: 1 })
      await at.schedule('fails', 0, { delayMs: 0 })
      await eventually(async () => (await at.stats()).dead === 1)
      await at.schedule('stays', 0, { delayMs: 0 })
      await eventually(async () => (await at.stats()).processing === 1)
      await idleWorker(at, ({ id, attempt }) => ran.push(`${id} ${attempt}`), 1)
      await closing.close({ graceMs: 0 })
      await eventually(() => ran.includes('stays 2'))
      expect(await at.dead.redrive('fails')).toBe(true)
      await eventually(() => ran.includes('fails 1'))
    })

    test('D5: never runs more at a time than its concurrency', async () => {
      const at = queue()
      let running = 0
      const seen: number[] = []
      const handler = async () => {
        seen.push(++running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        running--
      }
      const ids = Array.from({ length: 60 }, (_, index) => `task ${index}`)
      await Promise.all(ids.map((id) => at.schedule(id, 0, { delayMs: 0 })))
      work(at, handler, { concurrency: 7 })
      await eventually(() => seen.length === 60)
      expect(Math.max(...seen)).toBe(7)
    })

    test('D5: runs ten at a time by default', async () => {
      const at = queue()
      let running = 0
      const ids = Array.from({ length: 12 }, (_, index) => `task ${index}`)
      await Promise.all(ids.map((id) => at.schedule(id, 0, { delayMs: 0 })))
      work(at, ({ signal }) => {
        running++
        return new Promise((resolve) => signal.addEventListener('abort', resolve))
      })
      await eventually(async () => (await at.stats()).processing === 10)
      expect(running).toBe(10)
      expect((await at.stats()).due).toBe(2)
    })

    test('D2: many workers share the tasks, and each is run once', async () => {
      const ran: string[] = []
      const ids = Array.from({ length: 200 }, (_, index) => `task ${index}`)
      const at = queue()
      for (let count = 0; count < 5; count++)
        work(at, (task) => ran.push(task.id), { concurrency: 1 + count })
      await Promise.all(ids.map((id, index) => at.schedule(id, 0, { delayMs: index % 50 })))
      await eventually(async () => ran.length >= 200 && (await at.stats()).processing === 0)
      expect(ran.sort()).toEqual(ids.sort())
    })

    test('D5: renews the visibility while the handler runs', async () => {
      const at = queue({ visibilityMs: 1000 })
      const ran: number[] = []
      let finish = (): void => {}
      const handler: TaskHandler<unknown> = ({ attempt }) => {
        ran.push(attempt)
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      }
      work(at, handler)
      work(at, handler)
      await at.schedule('long', 0, { delayMs: 0 })
      await eventually(() => ran.length === 1)
      const startedAt = performance.now()
      await eventually(() => performance.now() - startedAt > 2200)
      expect(ran).toEqual([1])
      finish()
      await eventually(async () => (await at.stats()).processing === 0)
    })

    test('D6: a task that fails is retried after its backoff, and dead after its last attempt', async () => {
      const failures: number[] = []
      const at = queue({
        maxAttempts: 3,
        backoff: (attempt) => {
          failures.push(attempt)
          return 50 * attempt
        },
      })
      const ranAt: number[] = []
      work(at, ({ attempt }) => {
        ranAt.push(Date.now())
        throw new RangeError(`attempt ${attempt}`)
      })
      await at.schedule('a', { order: 7 }, { delayMs: 0 })
      await eventually(async () => (await at.stats()).dead === 1)
      expect(failures).toEqual([1, 2])
      const pauses = ranAt.slice(1).map((ms, index) => ms - (ranAt[index] ?? 0))
      for (const [index, pauseMs] of pauses.entries())
        expect(pauseMs).toBeGreaterThanOrEqual(50 * (index + 1) - 2)
      const [record] = await at.dead.list()
      expect(record).toEqual({
        id: 'a',
        payload: { order: 7 },
        attempts: 3,
        error: { name: 'RangeError', message: 'attempt 3' },
        dueAt: expect.any(Date) as Date,
        diedAt: expect.any(Date) as Date,
      })
      expect(await at.dead.list({ offset: 1, limit: 5 })).toEqual([])
      expect(await at.dead.discard('a')).toBe(true)
      expect(await at.stats()).toMatchObject({ dead: 0 })
    })

    test.each([
      ['a text', 'no', { name: 'Error', message: 'no' }],
      ['nothing', undefined, { name: 'Error', message: 'undefined' }],
      ['an object', { toString: () => 'odd' }, { name: 'Error', message: 'odd' }],
      [
        'what cannot be shown',
        Object.create(null),
        { name: 'Error', message: 'what was thrown cannot be shown' },
      ],
      [
        'a long message',
        new TypeError('x'.repeat(5000)),
        { name: 'TypeError', message: 'x'.repeat(1000) },
      ],
    ])('D6: a handler may throw %s', async (_, thrown: unknown, error) => {
      const at = queue({ maxAttempts: 1 })
      work(at, () => Promise.reject(thrown))
      await at.schedule('a', 0, { delayMs: 0 })
      await eventually(async () => (await at.dead.list())[0]?.error.message === error.message)
      expect((await at.dead.list())[0]?.error).toEqual(error)
    })

    test('D5: close claims nothing from then on, and lets handlers finish', async () => {
      const at = queue()
      const ended: string[] = []
      let finish = (): void => {}
      const worker = work(
        at,
        async ({ id }) => {
          await new Promise<void>((resolve) => {
            finish = resolve
          })
          ended.push(id)
        },
        { concurrency: 1 },
      )
      await at.schedule('a', 0, { delayMs: 0 })
      await at.schedule('b', 0, { delayMs: 0 })
      await eventually(async () => (await at.stats()).processing === 1)
      const closing = worker.close()
      finish()
      await closing
      expect(ended).toHaveLength(1)
      expect(await at.stats()).toMatchObject({ processing: 0, due: 1 })
    })

    test('D5: what has not finished when the grace ends is aborted, and run by others at once', async () => {
      const at = queue()
      const ran: string[] = []
      const reasons: unknown[] = []
      const worker = work(at, ({ signal }) => {
        signal.addEventListener('abort', () => reasons.push(signal.reason))
        return new Promise(() => {})
      })
      await at.schedule('a', 0, { delayMs: 0 })
      await eventually(async () => (await at.stats()).processing === 1)
      await worker.close({ graceMs: 50 })
      expect(reasons).toEqual([expect.any(WorkerClosedError)])
      expect(await at.stats()).toMatchObject({ processing: 0, due: 1 })
      work(at, ({ id, attempt }) => ran.push(`${id} ${attempt}`))
      await eventually(() => ran.length === 1)
      expect(ran).toEqual(['a 2'])
    })

    test('D5: what has not finished in its last attempt when the grace ends is dead', async () => {
      const at = queue({ maxAttempts: 1 })
      const worker = work(at, () => new Promise(() => {}))
      await at.schedule('a', 0, { delayMs: 0 })
      await eventually(async () => (await at.stats()).processing === 1)
      await worker.close({ graceMs: 0 })
      expect(await at.dead.list()).toMatchObject([
        { id: 'a', attempts: 1, error: { name: 'WorkerClosedError' } },
      ])
    })

    test('D5: a worker is closed by its signal, and by the end of its scope', async () => {
      const at = queue()
      const controller = new AbortController()
      work(at, () => {}, { signal: controller.signal })
      work(at, () => {}, { signal: AbortSignal.abort() })
      {
        await using worker = at.work(() => {})
        expect(worker).toBeDefined()
      }
      controller.abort()
      await at.schedule('a', 0, { delayMs: 0 })
      await eventually(async () => (await at.stats()).due === 1)
      const ran: string[] = []
      work(at, ({ id }) => ran.push(id))
      await eventually(() => ran.length === 1)
    })

    test('D10: tells what happens, without ids', async () => {
      const events: DelayEvent[] = []
      const stop = subscribe('sluice:delay', (event) => {
        if (event.queue === queueName) events.push(event)
      })
      const at = queue({ maxAttempts: 2 })
      const error = new Error('no')
      work(at, ({ id }) => {
        if (id === 'bad') throw error
      })
      await at.schedule('good', 0, { delayMs: 0 })
      await eventually(() => events.length === 2)
      await at.schedule('bad', 0, { delayMs: 0 })
      await eventually(() => events.length === 6)
      stop()
      const [good, bad] = ['good', 'bad'].map((id) => ({ queue: queueName, idHash: hashKey(id) }))
      const fence = expect.any(Number) as number
      const lateMs = expect.any(Number) as number
      expect(events).toEqual([
        { type: 'claim', ...good, attempt: 1, fence, lateMs },
        { type: 'ack', ...good, attempt: 1, fence, found: true },
        { type: 'claim', ...bad, attempt: 1, fence, lateMs },
        { type: 'retry', ...bad, attempt: 1, fence, delayMs: 0, error },
        { type: 'claim', ...bad, attempt: 2, fence, lateMs },
        { type: 'dead', ...bad, attempt: 2, fence, error: { name: 'Error', message: 'no' } },
      ])
    })

    test('D6: tells of a task that died although no handler could say', async () => {
      const events: DelayEvent[] = []
      const stop = subscribe('sluice:delay', (event) => {
        if (event.queue === queueName && event.type === 'dead') events.push(event)
      })
      const at = queue({ maxAttempts: 1 })
      await at.schedule('poison', 0, { delayMs: 0 })
      // A worker that claimed it, and was killed.
      await place.store.delay?.claim(queueName, { max: 1, visibilityMs: 100, maxAttempts: 1 })
      work(at, () => {})
      await eventually(() => events.length === 1)
      stop()
      expect(events).toMatchObject([{ attempt: 1, error: { name: 'VisibilityExpired' } }])
      expect(await at.dead.list()).toMatchObject([
        { id: 'poison', attempts: 1, error: { name: 'VisibilityExpired' } },
      ])
    })
  })
}

export async function memoryQueues(): Promise<QueuePlace> {
  const store = memoryStore()
  return { store, [Symbol.asyncDispose]: () => store.close() }
}
