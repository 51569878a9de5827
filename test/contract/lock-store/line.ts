import type { LockKeys } from '@sluice/core'
import { expect, test } from 'vitest'
import {
  claimOf,
  DEAD_AFTER_MS,
  LEASE_MS,
  type LocksUnderTest,
  near,
  TURN_MS,
  Woken,
} from './locks-under-test.ts'

/** Who comes next. */
export function lineTests(at: LocksUnderTest): void {
  test('L6: whoever waits has a place, which it keeps when it asks again', async () => {
    await at.grant('a')
    const first = await at.refusal('b', 'w1')
    expect(first.leftMs).toSatisfy(near(LEASE_MS))
    const second = await at.refusal('c', 'w2')
    expect(second.since).toBeGreaterThan(first.since as number)
    await at.advance(4000)
    for (const place of ['w1', { waiter: 'w1', since: first.since }])
      expect((await at.refusal('b', place)).since).toBe(first.since)
    expect((await at.inspect())?.waiters).toBe(2)
  })

  test('L6: a release wakes the first in line, exactly that one, and newcomers do not overtake', async () => {
    await at.grant('a')
    const woken = await at.queue('w1', 'w2', 'w3')
    for (const [holder, next] of [
      ['a', 'w1'],
      ['w1', 'w2'],
      ['w2', 'w3'],
    ] as const) {
      expect(await at.release(holder)).toBe(true)
      expect(await woken.names()).toEqual([next])
      expect(await at.inspect()).toBeUndefined()
      expect((await at.refusal('newcomer')).leftMs).toBeLessThanOrEqual(TURN_MS)
      expect((await at.refusal('late', 'w4')).since).toBeGreaterThan(0)
      await at.store.leave(at.key, 'w4')
      await at.grant(next, next)
    }
    expect(await at.release('w3')).toBe(true)
    expect(await woken.names()).toEqual([])
    await at.grant('newcomer')
  })

  test('L6: a waiter that has not asked for long is passed over', async () => {
    await at.grant('a')
    const woken = await at.queue('dead', 'dead too', 'w1')
    await at.advance(DEAD_AFTER_MS - 4000)
    await at.refusal('w1', 'w1')
    await at.advance(DEAD_AFTER_MS - 4000)
    expect((await at.inspect())?.waiters).toBe(1)
    await at.release('a')
    expect(await woken.names()).toEqual(['w1'])
    await at.grant('w1', 'w1')
  })

  test('L6: where all who stood in line are dead, a lock is free', async () => {
    await at.grant('a')
    const woken = await at.queue('dead', 'dead too')
    await at.advance(DEAD_AFTER_MS + 4000)
    await at.release('a')
    expect(await woken.names()).toEqual([])
    await at.grant('b')
  })

  test('L6: a lease that ends silently goes to the first in line, whoever of them asks', async () => {
    const holder = await at.grant('a')
    await at.store.extend([at.key], holder, 5000)
    const woken = await at.queue('w1', 'w2')
    await at.advance(6000)
    await at.refusal('w2', 'w2')
    expect(await woken.names()).toEqual(['w1'])
    await at.refusal('newcomer')
    await at.grant('w1', 'w1')
    await at.store.extend([at.key], { ...claimOf('w1'), fence: 1 }, 2000)
    await at.advance(3000)
    await at.grant('w2', 'w2')
    expect(await woken.names()).toEqual([])
  })

  test('L6: a newcomer finds a lock whose lease ended silently, and moves the line on', async () => {
    const holder = await at.grant('a')
    await at.store.extend([at.key], holder, 5000)
    const woken = await at.queue('w1')
    await at.advance(6000)
    expect((await at.refusal('newcomer')).leftMs).toBeLessThanOrEqual(TURN_MS)
    expect(await woken.names()).toEqual(['w1'])
  })

  test('L6: a turn that nobody takes lapses: whoever asks next moves the line on', async () => {
    await at.grant('a')
    const woken = await at.queue('w1', 'w2')
    await at.release('a')
    expect(await woken.names()).toEqual(['w1'])
    await at.advance(TURN_MS + 500)
    await at.refusal('newcomer')
    expect(await woken.names()).toEqual(['w2'])
    await at.advance(TURN_MS + 500)
    await at.grant('newcomer')
    expect(await woken.names()).toEqual([])
  })

  test('L6: whoever lost its turn by being slow stands where it stood', async () => {
    await at.grant('a')
    const { since } = await at.refusal('slow', 'w1')
    const woken = await at.queue('w2', 'w3')
    await at.release('a')
    await at.advance(TURN_MS + 500)
    await at.grant('w2', 'w2').catch(() => at.refusal('w2', 'w2'))
    expect((await at.refusal('slow', { waiter: 'w1', since })).since).toBe(since)
    await woken.names()
    await woken.listen('w1')
    await at.release('w2')
    expect(await woken.names()).toEqual(['w1'])
    await at.grant('slow', { waiter: 'w1', since })
    await at.release('slow')
    expect(await woken.names()).toEqual(['w3'])
  })

  test('L6: a slow waiter finds a free lock with others in line, and comes first', async () => {
    await at.grant('a')
    const { since } = await at.refusal('slow', 'w1')
    const woken = await at.queue('w2', 'w3')
    await at.release('a')
    await at.advance(TURN_MS + 500)
    await at.grant('slow', { waiter: 'w1', since })
    await at.release('slow')
    expect(await woken.names()).toEqual(['w2'])
  })

  test('L6: who leaves is not woken, and hands a turn on', async () => {
    await at.grant('a')
    const woken = await at.queue('w1', 'w2', 'w3')
    await at.store.leave(at.key, 'w1')
    expect((await at.inspect())?.waiters).toBe(2)
    await at.release('a')
    expect(await woken.names()).toEqual(['w2'])
    await at.store.leave(at.key, 'w1')
    expect(await woken.names()).toEqual([])
    await at.store.leave(at.key, 'w2')
    expect(await woken.names()).toEqual(['w3'])
    await at.store.leave(at.key, 'w3')
    await at.grant('newcomer')
    await at.store.leave(at.key, 'w3')
    expect((await at.acquire('b')).state).toBe('held')
  })

  test('L6: a waiter is not woken for another key, nor when it listens no more', async () => {
    const other = at.keyOf('other')
    const woken = new Woken(at)
    await woken.listen('w1', other)
    let heard = 0
    const listening = at.store.listen(at.key, 'w1', () => heard++)
    await listening.ready
    await at.grant('a')
    await at.refusal('b', 'w1')
    listening.close()
    await at.release('a')
    expect(await woken.names()).toEqual([])
    expect(heard).toBe(0)
    await at.grant('a', undefined, other)
    await at.refusal('b', 'w1', other)
    await at.release('a', other)
    expect(await woken.names()).toEqual(['w1'])
  })

  test('L14: a release of several wakes the first in each line, and nobody overtakes there', async () => {
    const keys: LockKeys = [at.keyOf('a'), at.keyOf('b'), at.keyOf('c')]
    await at.store.acquire(keys, claimOf('a'))
    const woken = new Woken(at)
    for (const key of keys.slice(1)) {
      await woken.listen(`w ${key}`, key)
      await at.refusal('w', `w ${key}`, key)
      await at.refusal('w2', 'w2', key)
    }
    await at.store.release(keys, claimOf('a'))
    expect(await woken.names()).toEqual(keys.slice(1).map((key) => `w ${key}`))
    expect((await at.store.acquire(keys, claimOf('b'))).state).toBe('held')
    await at.grant('x', undefined, keys[0])
  })

  test('L14: a claim of several finds a lock whose lease ended silently, and moves the line on', async () => {
    const keys: LockKeys = [at.key, at.keyOf('other')]
    const holder = await at.grant('a')
    await at.store.extend([at.key], holder, 5000)
    const woken = await at.queue('w1')
    await at.advance(6000)
    expect((await at.store.acquire(keys, claimOf('b'))).state).toBe('held')
    expect(await woken.names()).toEqual(['w1'])
    await at.grant('w1', 'w1')
  })

  test('L4: a claim that its waiter sends twice is one grant', async () => {
    await at.grant('a')
    await at.queue('w1', 'w2')
    await at.release('a')
    const first = await at.grant('w1', 'w1')
    expect(await at.grant('w1', 'w1')).toEqual(first)
    expect((await at.inspect())?.waiters).toBe(1)
  })
}
