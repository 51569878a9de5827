import type { LockGrant, PassReply } from '@sluice/core'
import { expect, test } from 'vitest'
import { claimOf, LEASE_MS, type LocksUnderTest, near, TURN_MS } from './locks-under-test.ts'

/** A lease that ends and a claim of the same process, in one step. */
export function passingTests(at: LocksUnderTest): void {
  const pass = (from: LockGrant, next: string, keepsTurn: boolean): Promise<PassReply> =>
    at.store.pass(at.key, from, claimOf(next), { waiter: 'own' }, keepsTurn)

  test('L7: with its turn a process passes the lease to its next caller, before the line', async () => {
    const first = await at.grant('a')
    const woken = await at.queue('w1', 'w2')
    const { released, next } = await pass(first, 'b', true)
    expect(released).toBe(true)
    if (next.state !== 'granted') throw new Error(next.state)
    expect(next.fence).toBeGreaterThan(first.fence)
    expect(await at.inspect()).toMatchObject({ fence: next.fence, waiters: 2 })
    expect((await at.inspect())?.remainingMs).toSatisfy(near(LEASE_MS))
    expect(await woken.names()).toEqual([])
    expect(await at.release('a')).toBe(false)
    expect(await at.release('b')).toBe(true)
    expect(await woken.names()).toEqual(['w1'])
  })

  test('L7: without it the line comes first, and the process stands at its end', async () => {
    const first = await at.grant('a')
    const early = await at.refusal('early', 'own')
    const woken = await at.queue('w1', 'w2')
    await woken.listen('own')
    const { released, next } = await pass(first, 'b', false)
    expect(released).toBe(true)
    if (next.state !== 'held') throw new Error(next.state)
    expect(next.leftMs).toBeLessThanOrEqual(TURN_MS)
    expect(next.since).toBeGreaterThan(early.since as number)
    for (const waiter of ['w1', 'w2']) {
      expect(await woken.names()).toEqual([waiter])
      await at.grant(waiter, waiter)
      await at.release(waiter)
    }
    expect(await woken.names()).toEqual(['own'])
    await at.grant('b', { waiter: 'own', since: next.since })
  })

  test('L7: a process that stood in line already keeps its place', async () => {
    const first = await at.grant('a')
    await at.queue('w1')
    const { since } = await at.refusal('b', 'own')
    const woken = await at.queue('w2')
    const place = { waiter: 'own', since }
    const behind = await at.store.pass(at.key, first, claimOf('b'), place, false)
    expect(behind.next).toMatchObject({ state: 'held', since })
    const turn = await at.grant('c', { waiter: 'w1' })
    await at.release('c')
    const own = await at.grant('b', place)
    expect(own.fence).toBeGreaterThan(turn.fence)
    await at.refusal('d', 'own')
    const ahead = await at.store.pass(at.key, own, claimOf('d'), place, false)
    expect(ahead.next.state).toBe('granted')
    expect(await woken.names()).toEqual([])
  })

  test('L7: where nobody else waits, the next caller has it at once', async () => {
    const first = await at.grant('a')
    await at.refusal('b', 'own')
    const { released, next } = await pass(first, 'b', false)
    expect(released).toBe(true)
    expect(next.state).toBe('granted')
  })

  test.each([true, false])('L4: a pass sent twice is one (keepsTurn: %s)', async (keepsTurn) => {
    const first = await at.grant('a')
    const once = await pass(first, 'b', keepsTurn)
    expect(once.next.state).toBe('granted')
    expect(await pass(first, 'b', keepsTurn)).toEqual(once)
    expect(await at.release('b')).toBe(true)
  })

  test('L7: a lease that was lost is not passed on: the next caller claims like any other', async () => {
    const lost = await at.grant('a')
    await at.advance(LEASE_MS + 1000)
    const free = await pass(lost, 'b', true)
    expect(free).toMatchObject({ released: false, next: { state: 'granted' } })
    const held = await pass(lost, 'c', true)
    expect(held).toMatchObject({ released: false, next: { state: 'held' } })
    expect((await at.inspect())?.waiters).toBe(1)
    const woken = await at.queue()
    await woken.listen('own')
    await at.release('b')
    expect(await woken.names()).toEqual(['own'])
  })
}
