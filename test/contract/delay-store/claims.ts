import { expect, test } from 'vitest'
import {
  dead,
  done,
  ends,
  near,
  type QueueUnderTest,
  retry,
  returned,
  soonAfter,
  unseen,
  VISIBILITY_MS,
} from './queue-under-test.ts'

/** Who gets a task, and who may end its run. */
export function claimTests(at: QueueUnderTest): void {
  test('D2: a claim takes what is due, by its time, and says when the next one is', async () => {
    expect(await at.claim()).toEqual({ tasks: [], expired: [], nextMs: undefined })
    await at.schedule('later', 60_000)
    await at.schedule('third', 12_000)
    await at.schedule('first')
    await at.schedule('second', 10_000)
    expect(await at.claim(0)).toMatchObject({ tasks: [], nextMs: 0 })
    expect(await at.ids()).toEqual(['first'])
    expect((await at.claim()).nextMs).toSatisfy(near(10_000))
    await at.advance(15_000)
    const reply = await at.claim(1)
    expect(reply.tasks.map(({ id }) => id)).toEqual(['second'])
    expect(reply.nextMs).toBe(0)
    const [third] = (await at.claim(1)).tasks
    expect(third).toMatchObject({ id: 'third', payload: '"third"', attempt: 1 })
    expect(third?.lateMs).toSatisfy(soonAfter(3000))
    await at.advance(50_000)
    expect(await at.ids()).toEqual(expect.arrayContaining(['first', 'later']))
  })

  test('D2: says when a visibility ends, if that is next', async () => {
    await at.schedule('running')
    await at.one()
    await at.schedule('waiting', 2 * VISIBILITY_MS)
    expect((await at.claim()).nextMs).toSatisfy(near(VISIBILITY_MS))
  })

  test('D2: many claims at once share the tasks, each to one', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `task ${index}`)
    await Promise.all(ids.map((id) => at.schedule(id)))
    const replies = await Promise.all(Array.from({ length: 20 }, () => at.claim(4)))
    const claimed = replies.flatMap(({ tasks }) => tasks)
    expect(claimed.map(({ id }) => id).sort()).toEqual(ids.sort())
    expect(new Set(claimed.map(({ fence }) => fence)).size).toBe(60)
    const settled = await Promise.all(claimed.map((task) => at.settle(task, done)))
    expect(settled).toEqual(claimed.map(() => 'settled'))
    expect(await at.stats()).toMatchObject({ due: 0, processing: 0 })
  })

  test('D2: every claim counts the attempt and has a receipt and a higher fence of its own', async () => {
    await at.schedule('a')
    const claims = [await at.one()]
    for (const end of [retry, returned, retry]) {
      await at.settle(claims.at(-1) ?? (await at.one()), end)
      await at.advance(15_000)
      claims.push(await at.one())
    }
    expect(claims.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
    expect(new Set(claims.map(({ receipt }) => receipt)).size).toBe(4)
    const fences = claims.map(({ fence }) => fence)
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
    expect(fences.every(Number.isSafeInteger)).toBe(true)
    // Microseconds of the wall clock are the floor: a store that forgot everything goes on above.
    for (const fence of fences) expect(fence).toBeGreaterThan((Date.now() - 60_000) * 1000)
    // A memory store under a test's clock tells dates by the wall.
    if (at.store.remote) expect(new Set(claims.map(({ dueAt }) => dueAt)).size).toBe(1)
  })

  test('D2: fences rise over the lives of an id', async () => {
    await at.schedule('a')
    const first = await at.one()
    await at.settle(first, done)
    await at.schedule('a')
    const second = await at.one()
    await at.settle(second, dead)
    await at.store.redrive(at.name, 'a')
    const third = await at.one()
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(third.fence).toBeGreaterThan(second.fence)
  })

  test('D1, D2: fences rise although the clock of the server was set back', async () => {
    await at.schedule('a')
    await at.schedule('b')
    const [first, other] = [await at.one(), await at.one()]
    await at.settle(first, done)
    await at.settle(other, unseen)
    if (at.store.remote) await at.advance(-3_600_000)
    await at.schedule('a')
    const [second] = (await at.claim()).tasks.filter(({ id }) => id === 'a')
    expect(second?.fence).toBeGreaterThan(Math.max(first.fence, other.fence))
    await at.advance(3_600_000)
    const [third] = (await at.claim()).tasks.filter(({ id }) => id === 'b')
    expect(third?.fence).toBeGreaterThan(second?.fence ?? Number.NaN)
  })

  test.each(ends)('D2: a stale receipt cannot end a run: $state', async (end) => {
    await at.schedule('a')
    const stale = await at.one()
    await at.advance(VISIBILITY_MS + 1000)
    const current = await at.one()
    expect(current.attempt).toBe(2)
    expect(await at.settle(stale, end)).toBe('stale')
    expect(await at.extend(stale)).toBe(false)
    expect(await at.stats()).toMatchObject({ scheduled: 0, due: 0, processing: 1, dead: 0 })
    await at.advance(VISIBILITY_MS - 5000)
    expect(await at.ids()).toEqual([])
    expect(await at.settle(current, done)).toBe('settled')
    expect(await at.settle(stale, done)).toBe('gone')
    expect(await at.extend(stale)).toBe(false)
  })

  test.each(ends)('D2: a receipt that nobody got ends nothing: $state', async (end) => {
    await at.schedule('a')
    const task = await at.one()
    expect(await at.settle({ ...task, receipt: 'x'.repeat(22) }, end)).toBe('stale')
    expect(await at.settle({ ...task, id: 'b' }, end)).toBe('gone')
    expect(await at.settle(task, done)).toBe('settled')
  })

  test.each(ends)('D2: the same end, sent again, is no error: $state', async (end) => {
    await at.schedule('a')
    const task = await at.one()
    expect(await at.settle(task, end)).toBe('settled')
    const before = await at.stats()
    expect(await at.settle(task, end)).toBe(end === done ? 'gone' : 'settled')
    expect(await at.stats()).toEqual(before)
  })

  test.each(ends)('D2: several who end a run at once are told apart: $state', async (end) => {
    await at.schedule('a')
    const stale = await at.one()
    await at.advance(VISIBILITY_MS + 1000)
    const current = await at.one()
    const calls = [stale, current, current, stale].map((task) => at.settle(task, end))
    const later = end === done ? ['gone', 'gone'] : ['settled', 'stale']
    expect(await Promise.all(calls)).toEqual(['stale', 'settled', ...later])
  })

  test.each(ends.slice(1))('D2: a run that has ended cannot be acked: $state', async (end) => {
    await at.schedule('a')
    const task = await at.one()
    await at.settle(task, end)
    const before = await at.stats()
    expect(await at.settle(task, done)).toBe('stale')
    expect(await at.extend(task)).toBe(false)
    expect(await at.stats()).toEqual(before)
  })

  test('D2: a redriven task is not ended by the receipt of its earlier life', async () => {
    await at.schedule('a')
    const task = await at.one()
    await at.settle(task, dead)
    await at.store.redrive(at.name, 'a')
    for (const end of ends) expect(await at.settle(task, end)).toBe('stale')
    expect(await at.stats()).toMatchObject({ due: 1 })
  })

  test('D5: a visibility is prolonged, by its owner alone', async () => {
    await at.schedule('a')
    const task = await at.one()
    for (let renewals = 0; renewals < 4; renewals++) {
      await at.advance(VISIBILITY_MS - 5000)
      expect(await at.extend({ ...task, receipt: 'x'.repeat(22) })).toBe(false)
      expect(await at.extend(task)).toBe(true)
      expect(await at.ids()).toEqual([])
    }
    expect((await at.claim()).nextMs).toSatisfy(near(VISIBILITY_MS))
    await at.advance(VISIBILITY_MS + 1000)
    const next = await at.one()
    expect(next).toMatchObject({ id: 'a', attempt: 2 })
    expect(next.lateMs).toSatisfy(soonAfter(1000))
  })

  test.each([...ends, 'extend'] as const)(
    'D5: a run whose visibility is over goes on until another claim: %j',
    async (end) => {
      await at.schedule('a')
      const task = await at.one()
      await at.advance(VISIBILITY_MS + 1000)
      if (end === 'extend') expect(await at.extend(task)).toBe(true)
      else expect(await at.settle(task, end)).toBe('settled')
      const due = end === returned || end === unseen
      expect(await at.ids()).toEqual(due ? ['a'] : [])
    },
  )

  test('D5: what is handed back is due at once; only what no handler saw gets its attempt back', async () => {
    await at.schedule('seen')
    await at.schedule('unseen')
    for (const task of (await at.claim()).tasks)
      await at.settle(task, task.id === 'seen' ? returned : unseen)
    const again = (await at.claim()).tasks
    expect(Object.fromEntries(again.map(({ id, attempt }) => [id, attempt]))).toEqual({
      seen: 2,
      unseen: 1,
    })
  })

  test('D6: a retry waits as long as its backoff', async () => {
    await at.schedule('a')
    await at.settle(await at.one(), retry)
    expect((await at.claim()).nextMs).toSatisfy(near(10_000))
    await at.advance(5000)
    expect(await at.ids()).toEqual([])
    await at.advance(6000)
    expect(await at.one()).toMatchObject({ id: 'a', attempt: 2 })
  })
}
