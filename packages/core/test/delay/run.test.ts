import { describe, expect, test } from 'vitest'
import { LeaseLostError, StoreUnavailableError, type Task } from '../../src/index.ts'
import { distantStore, gate } from './distant-store.ts'
import { HOUR_MS, queueOn, until, workerRig } from './worker-rig.ts'

const { events, types, work } = workerRig()

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

  test('D5: that has ended cannot extend its visibility', async () => {
    const queue = queueOn(distantStore())
    const tasks: Task<unknown>[] = []
    work(queue, (task) => tasks.push(task))
    await queue.schedule('a', 0, { delayMs: 0 })
    await until(() => types().includes('ack'))
    await expect(tasks[0]?.extend()).rejects.toThrow(LeaseLostError)
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
    expect(await queue.dead.list()).toMatchObject([{ id: 'odd', payload: '{' }])
  })
})
