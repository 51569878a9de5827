import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import type { DelayStore, TaskClaimReply } from '../../src/index.ts'
import { distantStore, gate } from './distant-store.ts'
import { HOUR_MS, queueOn, until, workerRig } from './worker-rig.ts'

const TEN_YEARS_MS = 3_653 * 86_400_000

const { events, types, work } = workerRig()

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

  test('D5: that arrives when its visibility is over is handed back, its attempt with it', async () => {
    const { opened, open } = gate()
    let claims = 0
    const store = distantStore((real) => ({
      claim: async (...args) => {
        const slow = ++claims === 1
        const reply = await real.claim(...args)
        if (slow) await opened
        return reply
      },
    }))
    const queue = queueOn(store, { visibilityMs: 2000 })
    await queue.schedule('a', 0, { delayMs: 0 })
    const runs: unknown[] = []
    const startedAt = performance.now()
    work(queue, ({ attempt, signal }) => runs.push([attempt, signal.aborted]))
    await until(() => performance.now() > startedAt + 2000)
    open()
    await until(() => types().includes('ack'))
    expect(runs).toEqual([[1, false]])
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
    work(queue, ({ id }) => ran.push(id), { concurrency: 300 })
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
