import { expect, test } from 'vitest'
import {
  dead,
  done,
  near,
  type QueueUnderTest,
  retry,
  returned,
  unseen,
  VISIBILITY_MS,
} from './queue-under-test.ts'

const TEN_YEARS_MS = 3_653 * 86_400_000

/** Brings a task `a` into each state. */
const states = {
  scheduled: (at) => at.schedule('a', 5000),
  due: (at) => at.schedule('a'),
  running: async (at) => {
    await at.schedule('a')
    await at.one()
  },
  silent: async (at) => {
    await at.schedule('a')
    await at.one()
    await at.advance(VISIBILITY_MS + 1000)
  },
  retried: async (at) => {
    await at.schedule('a')
    await at.settle(await at.one(), retry)
  },
  dead: async (at) => {
    await at.schedule('a')
    await at.settle(await at.one(), dead)
  },
} satisfies Record<string, (at: QueueUnderTest) => Promise<unknown>>

type State = keyof typeof states

/** What is scheduled, and what is not. */
export function schedulingTests(at: QueueUnderTest): void {
  test.each(Object.keys(states) as State[])(
    'D3: an id that is %s exists, and scheduling it again changes nothing',
    async (state) => {
      await states[state](at)
      const before = await at.stats()
      expect(await at.schedule('a', 0, { payload: '"other"' })).toBe('exists')
      expect(await at.schedule('a', TEN_YEARS_MS, { maxPending: 1 })).toBe('exists')
      expect(await at.stats()).toEqual(before)
      if (state === 'dead') await at.store.redrive(at.name, 'a')
      await at.advance(VISIBILITY_MS + 1000)
      expect(await at.one()).toMatchObject({ id: 'a', payload: '"a"' })
    },
  )

  test.each(['scheduled', 'due', 'retried'] as const)(
    'D3: cancel removes a task that is %s',
    async (state) => {
      await states[state](at)
      expect(await at.cancel('a')).toBe(true)
      expect(await at.cancel('a')).toBe(false)
      expect(await at.stats()).toMatchObject({ scheduled: 0, due: 0 })
      await at.advance(60_000)
      expect(await at.ids()).toEqual([])
      expect(await at.schedule('a')).toBe('scheduled')
      expect(await at.one()).toMatchObject({ attempt: 1 })
    },
  )

  test.each(['running', 'silent', 'dead'] as const)(
    'D3: cancel leaves a task that is %s alone',
    async (state) => {
      await states[state](at)
      const before = await at.stats()
      expect(await at.cancel('a')).toBe(false)
      expect(await at.stats()).toEqual(before)
    },
  )

  test('D3: an id is free again when its task is done', async () => {
    await at.schedule('a')
    await at.settle(await at.one(), done)
    expect(await at.schedule('a', 0, { payload: '2' })).toBe('scheduled')
    expect(await at.one()).toMatchObject({ payload: '2', attempt: 1 })
  })

  test('D3: of many who schedule an id at once, one does', async () => {
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) => at.schedule(`id ${index % 3}`, 60_000)),
    )
    expect(replies.filter((reply) => reply === 'scheduled')).toHaveLength(3)
    expect(await at.stats()).toMatchObject({ scheduled: 3 })
  })

  test('D7: delays from 0 to ten years', async () => {
    await at.schedule('now')
    await at.schedule('far', TEN_YEARS_MS)
    const reply = await at.claim()
    expect(reply.tasks.map(({ id }) => id)).toEqual(['now'])
    await at.settle(reply.tasks[0] ?? (await at.one()), done)
    expect((await at.claim()).nextMs).toSatisfy(near(TEN_YEARS_MS))
    await at.advance(TEN_YEARS_MS - 5000)
    expect((await at.claim()).nextMs).toSatisfy(near(5000))
    await at.advance(5000)
    expect(await at.ids()).toEqual(['far'])
  })

  test('D7: a moment: one in the past is now, one too far is refused', async () => {
    const now = await at.epochMs()
    expect(await at.scheduleAt('past', 1000)).toBe('scheduled')
    expect(await at.scheduleAt('soon', now + 20_000)).toBe('scheduled')
    expect(await at.scheduleAt('too far', now + TEN_YEARS_MS + 60_000)).toBe('too-late')
    const past = await at.one()
    expect(past.id).toBe('past')
    expect(past.lateMs).toBeLessThan(3000)
    expect((await at.claim()).nextMs).toSatisfy(near(20_000))
    await at.advance(21_000)
    expect((await at.one()).dueAt).toSatisfy((due: number) => Math.abs(due - now - 20_000) < 22_000)
    expect(await at.ids()).toEqual([])
  })

  test('D8: no more tasks wait than may, due ones included, running and dead ones not', async () => {
    const three = { maxPending: 3 }
    expect(await at.schedule('a', 0, three)).toBe('scheduled')
    expect(await at.schedule('b', 60_000, three)).toBe('scheduled')
    expect(await at.schedule('c', 0, three)).toBe('scheduled')
    expect(await at.schedule('d', 0, three)).toBe('full')
    expect(await at.schedule('a', 0, three)).toBe('exists')
    expect(await at.cancel('d')).toBe(false)
    const running = (await at.claim(2)).tasks
    expect(running.map(({ id }) => id).sort()).toEqual(['a', 'c'])
    expect(await at.schedule('d', 0, three)).toBe('scheduled')
    expect(await at.schedule('e', 0, three)).toBe('scheduled')
    expect(await at.schedule('f', 0, three)).toBe('full')
    const [first, second] = running
    if (!first || !second) throw new Error('two were claimed')
    await at.settle(first, dead)
    expect(await at.settle(second, retry)).toBe('settled')
    expect(await at.store.redrive(at.name, first.id)).toBe(true)
    expect(await at.stats()).toMatchObject({ scheduled: 2, due: 3 })
    expect(await at.schedule('f', 0, three)).toBe('full')
  })

  test('D8: the bound holds for tasks that are scheduled at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => at.schedule(`id ${index}`, 0, { maxPending: 7 })),
    )
    expect(replies.filter((reply) => reply === 'scheduled')).toHaveLength(7)
    expect(replies.filter((reply) => reply === 'full')).toHaveLength(33)
    expect(await at.stats()).toMatchObject({ due: 7 })
  })

  test('D3: ids and payloads come back as they were, whatever their characters are', async () => {
    const odd = ['', 'a b', '{x}', '*', '\0', '\r\n$3', 'é 漢 😀', '%s', 'W', '"', 'x'.repeat(500)]
    for (const text of odd) await at.schedule(`id${text}`, 0, { payload: JSON.stringify({ text }) })
    const claimed = (await at.claim(100)).tasks
    expect(claimed.map(({ id }) => id).sort()).toEqual(odd.map((text) => `id${text}`).sort())
    for (const task of claimed) {
      expect(`id${JSON.parse(task.payload).text}`).toBe(task.id)
      expect(await at.settle(task, dead)).toBe('settled')
    }
    for (const { id, payload } of await at.dead()) expect(`id${JSON.parse(payload).text}`).toBe(id)
  })

  test('D8: a payload of a megabyte', async () => {
    const payload = JSON.stringify('é'.repeat(500_000))
    const replies = await Promise.all([
      at.schedule('small', 0),
      at.schedule('big', 0, { payload }),
      at.schedule('other', 0),
    ])
    expect(replies).toEqual(['scheduled', 'scheduled', 'scheduled'])
    const big = (await at.claim()).tasks.find(({ id }) => id === 'big')
    expect(big?.payload === payload).toBe(true)
  })

  test('D11: queues of different names never meet', async () => {
    const names = ['a', 'b', 'a:b', ':', '{', '}', '{a}', '*', '%', 'é', 'x'.repeat(300)]
    const own = (name: string) => `${at.name} ${name}`
    const task = { id: 'id', due: { delayMs: 0 } }
    for (const name of names)
      expect(await at.store.schedule(own(name), { ...task, payload: JSON.stringify(name) })).toBe(
        'scheduled',
      )
    for (const name of names) {
      const claim = { max: 10, visibilityMs: VISIBILITY_MS, maxAttempts: 1 }
      const { tasks } = await at.store.claim(own(name), claim)
      expect(tasks.map(({ payload }) => JSON.parse(payload))).toEqual([name])
    }
  })

  test('D4: tells who watches of a task that is due before all others, however it came', async () => {
    const told: number[] = []
    const hints = at.store.watch(at.name, (dueInMs) => told.push(dueInMs))
    await hints.ready
    const next = async (act: () => Promise<unknown>): Promise<number> => {
      const before = told.length
      await act()
      await heard(at)
      expect(told.length - before).toBeLessThanOrEqual(1)
      return told[before] ?? -1
    }
    expect(await next(() => at.schedule('a', 60_000))).toSatisfy(near(60_000))
    expect(await next(() => at.schedule('b', 90_000))).toBe(-1)
    expect(await next(() => at.schedule('c', 20_000))).toSatisfy(near(20_000))
    expect(await next(() => at.schedule('d'))).toBe(0)
    let task = await at.one()
    expect(await next(() => at.settle(task, retry))).toSatisfy(near(10_000))
    await at.advance(11_000)
    task = await at.one()
    expect(await next(() => at.settle(task, unseen))).toBe(0)
    task = await at.one()
    expect(await next(() => at.settle(task, returned))).toBe(0)
    task = await at.one()
    expect(await next(() => at.settle(task, dead))).toBe(-1)
    expect(await next(() => at.store.redrive(at.name, 'd'))).toBe(0)
    hints.close()
    expect(await next(() => at.cancel('d').then(() => at.schedule('e')))).toBe(-1)
  })
}

/** What is sent by the same way later arrives later. */
async function heard(at: QueueUnderTest): Promise<void> {
  const other = `${at.name} other`
  await new Promise<void>((resolve, reject) => {
    const hints = at.store.watch(other, () => {
      hints.close()
      resolve()
    })
    const mark = { id: 'mark', payload: '0', due: { delayMs: 60_000 } }
    hints.ready.then(() => at.store.schedule(other, mark)).catch(reject)
  })
  await at.store.cancel(other, 'mark')
}
