import type { Task, TaskHandler } from '@sluice/core'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { HOUR_MS, type QueueRig } from './queue-rig.ts'

/** Tasks run when they are due, and by one worker at a time. */
export function runningTests(rig: QueueRig): void {
  test('D7: runs tasks when they are due, and tells them all', async () => {
    const tasks: Task<unknown>[] = []
    const at = rig.queue()
    const before = Date.now()
    await at.schedule('c', { n: 3 }, { at: new Date(before + 300) })
    await at.schedule('b', { n: 2 }, { delayMs: 150 })
    await at.schedule('a', { n: 1 }, { at: 0 })
    rig.work(at, (task) => tasks.push(task))
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
    const at = rig.queue()
    await at.schedule('far', 0, { delayMs: HOUR_MS })
    await rig.idleWorker(at, (task) => ran.push(task.id))
    await at.schedule('soon', 0, { delayMs: 200 })
    await at.schedule('now', 0, { delayMs: 0 })
    await eventually(() => ran.length === 2)
    expect(ran).toEqual(['now', 'soon'])
  })

  test('D4: a worker that sleeps is woken by retries, redrives and what is handed back', async () => {
    const ran: string[] = []
    const at = rig.queue({ maxAttempts: 2 })
    const handler: TaskHandler<unknown> = ({ id, signal }) => {
      if (id === 'fails') throw new Error('as it should')
      return new Promise((resolve) => signal.addEventListener('abort', resolve))
    }
    const closing = rig.work(at, handler, { concurrency: 1 })
    await at.schedule('fails', 0, { delayMs: 0 })
    await eventually(async () => (await at.stats()).dead === 1)
    await at.schedule('stays', 0, { delayMs: 0 })
    await eventually(async () => (await at.stats()).processing === 1)
    await rig.idleWorker(at, ({ id, attempt }) => ran.push(`${id} ${attempt}`), 1)
    await closing.close({ graceMs: 0 })
    await eventually(() => ran.includes('stays 2'))
    expect(await at.dead.redrive('fails')).toBe(true)
    await eventually(() => ran.includes('fails 1'))
  })

  test('D5: never runs more at a time than its concurrency', async () => {
    const at = rig.queue()
    let running = 0
    const seen: number[] = []
    const handler = async () => {
      seen.push(++running)
      await new Promise((resolve) => setTimeout(resolve, 5))
      running--
    }
    const ids = Array.from({ length: 60 }, (_, index) => `task ${index}`)
    await Promise.all(ids.map((id) => at.schedule(id, 0, { delayMs: 0 })))
    rig.work(at, handler, { concurrency: 7 })
    await eventually(() => seen.length === 60)
    expect(Math.max(...seen)).toBe(7)
  })

  test('D5: runs ten at a time by default', async () => {
    const at = rig.queue()
    let running = 0
    const ids = Array.from({ length: 12 }, (_, index) => `task ${index}`)
    await Promise.all(ids.map((id) => at.schedule(id, 0, { delayMs: 0 })))
    rig.work(at, ({ signal }) => {
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
    const at = rig.queue()
    for (let count = 0; count < 5; count++)
      rig.work(at, (task) => ran.push(task.id), { concurrency: 1 + count })
    await Promise.all(ids.map((id, index) => at.schedule(id, 0, { delayMs: index % 50 })))
    await eventually(async () => ran.length >= 200 && (await at.stats()).processing === 0)
    expect(ran.sort()).toEqual(ids.sort())
  })

  test('D5: renews the visibility while the handler runs', async () => {
    const at = rig.queue({ visibilityMs: 1000 })
    const ran: number[] = []
    let finish = (): void => {}
    const handler: TaskHandler<unknown> = ({ attempt }) => {
      ran.push(attempt)
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    }
    rig.work(at, handler)
    rig.work(at, handler)
    await at.schedule('long', 0, { delayMs: 0 })
    await eventually(() => ran.length === 1)
    const startedAt = performance.now()
    await eventually(() => performance.now() - startedAt > 2200)
    expect(ran).toEqual([1])
    finish()
    await eventually(async () => (await at.stats()).processing === 0)
  })
}
