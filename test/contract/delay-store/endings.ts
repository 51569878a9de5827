import { expect, test } from 'vitest'
import {
  dead,
  done,
  error,
  MAX_ATTEMPTS,
  type QueueUnderTest,
  retry,
  soonAfter,
  VISIBILITY_MS,
} from './queue-under-test.ts'

/** Tasks that die, and what is counted. */
export function endingTests(at: QueueUnderTest): void {
  test('D6: a task that falls silent each time runs as often as it may, and is dead then', async () => {
    await at.schedule('poison')
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      expect(await at.one()).toMatchObject({ id: 'poison', attempt })
      await at.advance(VISIBILITY_MS + 1000)
    }
    const before = await at.epochMs()
    const { tasks, expired } = await at.claim()
    expect(tasks).toEqual([])
    expect(expired).toEqual([
      { id: 'poison', attempt: MAX_ATTEMPTS, fence: expect.any(Number) as number },
    ])
    const [record, ...others] = await at.dead()
    expect(others).toEqual([])
    expect(record).toMatchObject({ id: 'poison', payload: '"poison"', attempts: MAX_ATTEMPTS })
    expect(record?.error.name).toBe('VisibilityExpired')
    expect(record?.diedAt).toSatisfy((ms: number) => Math.abs(ms - before) < 3000)
    expect(await at.claim()).toEqual({ tasks: [], expired: [], nextMs: undefined })
  })

  test('D2: with one attempt, a task runs at most once', async () => {
    await at.schedule('a')
    const [task] = (await at.claim(1, { maxAttempts: 1 })).tasks
    await at.advance(VISIBILITY_MS + 1000)
    expect((await at.claim(1, { maxAttempts: 1 })).tasks).toEqual([])
    if (!task) throw new Error('it was due')
    expect(await at.settle(task, done)).toBe('stale')
    expect(await at.dead()).toMatchObject([{ id: 'a', attempts: 1 }])
  })

  test('D6: the dead make no room for themselves among the claimed', async () => {
    const ids = Array.from({ length: 6 }, (_, index) => `poison ${index}`)
    for (const id of ids) await at.schedule(id)
    await at.claim(6, { maxAttempts: 1 })
    await at.advance(VISIBILITY_MS + 1000)
    await at.schedule('healthy')
    const seen: string[] = []
    for (let claims = 0; claims < 4; claims++) {
      const { tasks } = await at.claim(2, { maxAttempts: 1 })
      seen.push(...tasks.map(({ id }) => id))
    }
    expect(seen).toEqual(['healthy'])
    expect((await at.dead()).map(({ id }) => id).sort()).toEqual(ids)
  })

  test('D6: the dead are listed by the time of their death, page by page, with their errors', async () => {
    for (const id of ['a', 'b', 'c']) {
      await at.schedule(id)
      await at.settle(await at.one(), dead)
      await at.advance(1000)
    }
    const records = await at.dead()
    expect(records.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    for (const record of records) {
      expect(record).toMatchObject({ attempts: 1, error, payload: JSON.stringify(record.id) })
      expect(record.diedAt).toBeGreaterThanOrEqual(record.dueAt)
    }
    const page = await at.store.dead(at.name, 1, 1)
    expect(page.map(({ id }) => id)).toEqual(['b'])
    expect(await at.store.dead(at.name, 3, 5)).toEqual([])
  })

  test('D6: redrive runs a dead task now, its attempts back at zero', async () => {
    await at.schedule('a')
    await at.settle(await at.one(), retry)
    expect(await at.store.redrive(at.name, 'a')).toBe(false)
    await at.advance(11_000)
    await at.settle(await at.one(), dead)
    await at.advance(60_000)
    expect(await at.store.redrive(at.name, 'a')).toBe(true)
    expect(await at.store.redrive(at.name, 'a')).toBe(false)
    expect(await at.dead()).toEqual([])
    const task = await at.one()
    expect(task).toMatchObject({ id: 'a', payload: '"a"', attempt: 1 })
    expect(task.lateMs).toBeLessThan(3000)
    expect(await at.settle(task, done)).toBe('settled')
  })

  test('D6: discard forgets a dead task, and no other', async () => {
    await at.schedule('a', 5000)
    expect(await at.store.discard(at.name, 'a')).toBe(false)
    await at.advance(6000)
    const task = await at.one()
    expect(await at.store.discard(at.name, 'a')).toBe(false)
    await at.settle(task, dead)
    expect(await at.store.discard(at.name, 'a')).toBe(true)
    expect(await at.store.discard(at.name, 'a')).toBe(false)
    expect(await at.dead()).toEqual([])
    expect(await at.schedule('a')).toBe('scheduled')
  })

  test('D10: counts what is scheduled, due, processing and dead', async () => {
    const nothing = { scheduled: 0, due: 0, processing: 0, dead: 0, oldestDueMs: 0 }
    expect(await at.stats()).toEqual(nothing)
    await at.schedule('dies')
    await at.settle(await at.one(), dead)
    await at.schedule('runs')
    await at.one()
    await at.schedule('due')
    await at.schedule('soon', 10_000)
    await at.schedule('later', 100_000)
    expect(await at.stats()).toEqual({ ...nothing, scheduled: 2, due: 1, processing: 1, dead: 1 })
    await at.advance(20_000)
    const stats = await at.store.stats(at.name)
    expect(stats).toMatchObject({ scheduled: 1, due: 2, processing: 1, dead: 1 })
    expect(stats.oldestDueMs).toSatisfy(soonAfter(20_000))
    await at.advance(VISIBILITY_MS)
    expect(await at.stats()).toMatchObject({ scheduled: 1, due: 3, processing: 0, dead: 1 })
    expect(await at.ids()).toEqual(expect.arrayContaining(['due', 'runs', 'soon']))
    expect(await at.stats()).toMatchObject({ scheduled: 1, due: 0, processing: 3, oldestDueMs: 0 })
  })
}
