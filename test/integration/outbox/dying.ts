import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { OutboxUnderTest } from './outbox-under-test.ts'

/** Messages that cannot be delivered. */
export function deathTests(at: OutboxUnderTest): void {
  test('P6: a message that fails too often is dead, and holds its aggregate until it is redriven', async () => {
    let broken = true
    const box = at.make({
      maxAttempts: 2,
      backoff: () => 1,
      publish: (message) => {
        if (broken && message.payload === 'bad') throw new TypeError('cannot')
        at.published.push(message)
      },
    })
    await at.add(box, 'a', 'bad', 'after')
    await at.add(box, 'b', 'other')
    at.start(box)
    const [dead] = await eventually(() => at.deadOf(box, 1))
    expect(dead).toMatchObject({ aggregate: 'a', type: 't', payload: 'bad', attempts: 2 })
    expect(dead?.error).toEqual({ name: 'TypeError', message: 'cannot' })
    expect(Number(dead?.diedAt)).toBeGreaterThanOrEqual(Number(dead?.addedAt))
    await at.add(box, 'b', 'another')
    await eventually(() => at.published.length === 2)
    expect(at.payloads('a')).toEqual([])
    broken = false
    expect(await box.dead.redrive(String(dead?.id))).toBe(true)
    expect(await box.dead.redrive(String(dead?.id))).toBe(false)
    await eventually(() => at.published.length === 4)
    expect(at.payloads('a')).toEqual(['bad', 'after'])
    expect(at.published.find(({ payload }) => payload === 'bad')?.attempt).toBe(1)
  })

  test('P6: a dead message that is discarded lets the rest of its aggregate go on', async () => {
    const box = at.make({
      maxAttempts: 1,
      publish: (message) => {
        if (message.payload === 'bad') throw new Error('cannot')
        at.published.push(message)
      },
    })
    await at.add(box, 'a', 'bad', 'after')
    at.start(box)
    const [dead] = await eventually(() => at.deadOf(box, 1))
    expect(await box.dead.discard(String(dead?.id))).toBe(true)
    await eventually(() => at.published.length === 1)
    expect(at.payloads('a')).toEqual(['after'])
    expect(await box.dead.discard(String(dead?.id))).toBe(false)
    expect(await at.deadOf(box, 0)).toEqual([])
  })

  test('P6: a message whose relays fall silent is tried so often, and then dead', async () => {
    const attempts: number[] = []
    const box = at.make({
      maxAttempts: 2,
      publish: ({ attempt }) => {
        attempts.push(attempt)
        return new Promise(() => {})
      },
    })
    await at.add(box, 'a', 'stuck')
    at.start(box, { leaseMs: 100, maxRunMs: 100 })
    const [dead] = await eventually(() => at.deadOf(box, 1))
    expect(attempts).toEqual([1, 2])
    expect(dead).toMatchObject({ attempts: 2, error: { name: 'RelayLost' } })
  })
}
