import { type DelayEvent, hashKey, subscribe } from '@sluice/core'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { QueueRig } from './queue-rig.ts'

/** Tasks that fail, and what is told of it. */
export function failingTests(rig: QueueRig): void {
  test('D6: a task that fails is retried after its backoff, and dead after its last attempt', async () => {
    const failures: number[] = []
    const at = rig.queue({
      maxAttempts: 3,
      backoff: (attempt) => {
        failures.push(attempt)
        return 50 * attempt
      },
    })
    const ranAt: number[] = []
    rig.work(at, ({ attempt }) => {
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
    const at = rig.queue({ maxAttempts: 1 })
    rig.work(at, () => Promise.reject(thrown))
    await at.schedule('a', 0, { delayMs: 0 })
    await eventually(async () => (await at.dead.list())[0]?.error.message === error.message)
    expect((await at.dead.list())[0]?.error).toEqual(error)
  })

  test('D10: tells what happens, without ids', async () => {
    const events: DelayEvent[] = []
    const stop = subscribe('sluice:delay', (event) => {
      if (event.queue === rig.name) events.push(event)
    })
    const at = rig.queue({ maxAttempts: 2 })
    const error = new Error('no')
    rig.work(at, ({ id }) => {
      if (id === 'bad') throw error
    })
    await at.schedule('good', 0, { delayMs: 0 })
    await eventually(() => events.length === 2)
    await at.schedule('bad', 0, { delayMs: 0 })
    await eventually(() => events.length === 6)
    stop()
    const [good, bad] = ['good', 'bad'].map((id) => ({ queue: rig.name, idHash: hashKey(id) }))
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
      if (event.queue === rig.name && event.type === 'dead') events.push(event)
    })
    const at = rig.queue({ maxAttempts: 1 })
    await at.schedule('poison', 0, { delayMs: 0 })
    // A worker that claimed it, and was killed.
    await rig.store.delay?.claim(rig.name, { max: 1, visibilityMs: 100, maxAttempts: 1 })
    rig.work(at, () => {})
    await eventually(() => events.length === 1)
    stop()
    expect(events).toMatchObject([{ attempt: 1, error: { name: 'VisibilityExpired' } }])
    expect(await at.dead.list()).toMatchObject([
      { id: 'poison', attempts: 1, error: { name: 'VisibilityExpired' } },
    ])
  })
}
