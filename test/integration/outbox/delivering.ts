import type { OutboxMessage } from '@sluice/postgres'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { OutboxUnderTest } from './outbox-under-test.ts'

/** What is delivered, and in which order. */
export function deliveryTests(at: OutboxUnderTest): void {
  test('P6, P7: delivers what was committed, in order for each aggregate, and nothing else', async () => {
    const box = at.make({ publish: at.keep })
    await at.add(box, 'a', 1, 2, 3)
    await at.add(box, 'b', 1)
    await at
      .inTransaction(async (client) => {
        await box.add(client, { aggregate: 'a', type: 't', payload: 'rolled back' })
        throw new Error('changed my mind')
      })
      .catch(() => {})
    await at.add(box, 'a', 4)
    at.start(box)
    await eventually(() => at.published.length === 5)
    expect(at.payloads('a')).toEqual([1, 2, 3, 4])
    expect(at.payloads('b')).toEqual([1])
    expect(at.published[0]).toMatchObject({ type: 't', attempt: 1, addedAt: expect.any(Date) })
  })

  test('P6: payloads come out as they were', async () => {
    const box = at.make({ publish: at.keep })
    const payload = { b: 1e21, a: ['\0', '\ud83d', '🚀', null, { '': 0.1 }], big: '9'.repeat(50) }
    await at.add(box, 'ü '.repeat(100), payload)
    at.start(box)
    await eventually(() => at.published.length === 1)
    expect(at.published[0]?.payload).toEqual(payload)
  })

  test('P6: of several relays one has an aggregate at a time', async () => {
    const busy = new Map<string, number>()
    let most = 0
    const box = at.make({
      publish: async (message) => {
        const before = busy.get(message.aggregate) ?? 0
        busy.set(message.aggregate, before + 1)
        most = Math.max(most, before + 1)
        await at.pool.query('SELECT 1')
        at.published.push(message)
        busy.set(message.aggregate, before)
      },
    })
    for (let index = 0; index < 5; index++) at.start(box, { concurrency: 3 })
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const aggregates = ['a', 'b', 'c', 'd']
    await Promise.all(aggregates.map((aggregate) => at.add(box, aggregate, ...numbers)))
    await eventually(() => at.published.length >= 80, { withinMs: 15_000 })
    expect(most).toBe(1)
    for (const aggregate of aggregates) expect(at.payloads(aggregate)).toEqual(numbers)
  })

  test('P6: what fails is tried again, and holds back its aggregate alone', async () => {
    const box = at.make({
      backoff: () => 30,
      publish: (message) => {
        if (message.payload === 'hard' && message.attempt < 3) throw new Error('not yet')
        at.published.push(message)
      },
    })
    await at.add(box, 'a', 'hard', 'after')
    await at.add(box, 'b', 'other')
    at.start(box)
    await eventually(() => at.published.length === 3)
    expect(at.payloads('a')).toEqual(['hard', 'after'])
    expect(at.published.map(({ payload }) => payload)[0]).toBe('other')
    expect(at.published.find(({ payload }) => payload === 'hard')?.attempt).toBe(3)
  })

  test('P6: a delay queue is scheduled a task of the same id', async () => {
    const scheduled: unknown[] = []
    const schedule = async (id: string, { payload }: OutboxMessage, when: object) => {
      scheduled.push({ id, payload, when })
      return 'scheduled'
    }
    const box = at.make({ publish: { schedule } })
    const [id] = await at.add(box, 'a', 'mail')
    at.start(box)
    await eventually(() => scheduled.length === 1)
    expect(scheduled).toEqual([{ id, payload: 'mail', when: { delayMs: 0 } }])
  })

  test('P6: what is no message is refused, and the transaction goes on', async () => {
    const box = at.make({ publish: at.keep })
    await at.inTransaction(async (client) => {
      for (const wrong of [{ aggregate: '' }, { type: 'x'.repeat(256) }, { payload: undefined }])
        await expect(
          box.add(client, { aggregate: 'a', type: 't', payload: 1, ...wrong }),
        ).rejects.toThrow(`\`${Object.keys(wrong)[0]}\` must be`)
      await box.add(client, { aggregate: 'a', type: 't', payload: 1 })
    })
    expect(await at.counts()).toEqual({ delivered: 0, pending: 1 })
  })
}

/** Needs two connections at once. */
export function orderTests(at: OutboxUnderTest): void {
  test('P6: who adds for an aggregate waits for one who did before, so its order is that of the commits', async () => {
    const box = at.make({ publish: at.keep })
    const first = await at.pool.connect()
    const second = await at.pool.connect()
    for (const client of [first, second]) await client.query('BEGIN')
    await box.add(first, { aggregate: 'a', type: 't', payload: 1 })
    await box.add(second, { aggregate: 'b', type: 't', payload: 1 })
    const late = box.add(second, { aggregate: 'a', type: 't', payload: 2 })
    await eventually(async () => {
      const { rows } = await at.pool.query('SELECT 1 FROM pg_locks WHERE NOT granted')
      return rows.length > 0
    })
    await first.query('COMMIT')
    await late
    await second.query('COMMIT')
    first.release()
    second.release()
    at.start(box)
    await eventually(() => at.published.length === 3)
    expect(at.payloads('a')).toEqual([1, 2])
  })
}
