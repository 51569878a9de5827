import { WorkerClosedError } from '@sluice/core'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { QueueRig } from './queue-rig.ts'

/** What becomes of tasks when their worker is closed. */
export function closingTests(rig: QueueRig): void {
  test('D5: close claims nothing from then on, and lets handlers finish', async () => {
    const at = rig.queue()
    const ended: string[] = []
    let finish = (): void => {}
    const worker = rig.work(
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
    const at = rig.queue()
    const ran: string[] = []
    const reasons: unknown[] = []
    const worker = rig.work(at, ({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      return new Promise(() => {})
    })
    await at.schedule('a', 0, { delayMs: 0 })
    await eventually(async () => (await at.stats()).processing === 1)
    await worker.close({ graceMs: 50 })
    expect(reasons).toEqual([expect.any(WorkerClosedError)])
    expect(await at.stats()).toMatchObject({ processing: 0, due: 1 })
    rig.work(at, ({ id, attempt }) => ran.push(`${id} ${attempt}`))
    await eventually(() => ran.length === 1)
    expect(ran).toEqual(['a 2'])
  })

  test('D5: what has not finished in its last attempt when the grace ends is dead', async () => {
    const at = rig.queue({ maxAttempts: 1 })
    const worker = rig.work(at, () => new Promise(() => {}))
    await at.schedule('a', 0, { delayMs: 0 })
    await eventually(async () => (await at.stats()).processing === 1)
    await worker.close({ graceMs: 0 })
    expect(await at.dead.list()).toMatchObject([
      { id: 'a', attempts: 1, error: { name: 'WorkerClosedError' } },
    ])
  })

  test('D5: a worker is closed by its signal, and by the end of its scope', async () => {
    const at = rig.queue()
    const controller = new AbortController()
    rig.work(at, () => {}, { signal: controller.signal })
    rig.work(at, () => {}, { signal: AbortSignal.abort() })
    {
      await using worker = at.work(() => {})
      expect(worker).toBeDefined()
    }
    controller.abort()
    await at.schedule('a', 0, { delayMs: 0 })
    await eventually(async () => (await at.stats()).due === 1)
    const ran: string[] = []
    rig.work(at, ({ id }) => ran.push(id))
    await eventually(() => ran.length === 1)
  })
}
