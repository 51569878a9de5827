import { ConfigurationError, type LockKeys } from '@sluice/core'
import { beforeEach, expect, test } from 'vitest'
import { claimOf, LEASE_MS, type LocksUnderTest, near } from './locks-under-test.ts'

/** Locks that are taken together. */
export function severalTests(at: LocksUnderTest): void {
  let keys: LockKeys
  beforeEach(() => {
    keys = [at.keyOf('a'), at.keyOf('b'), at.keyOf('c')]
  })
  const acquire = (token: string) => at.store.acquire(keys, claimOf(token))

  async function grant(token: string): Promise<number> {
    const reply = await acquire(token)
    if (reply.state !== 'granted') throw new Error(reply.state)
    return reply.fence
  }

  test('L14: all are taken with one fence, higher than the last of each', async () => {
    const singles: number[] = []
    for (const key of keys) {
      singles.push((await at.grant('x', undefined, key)).fence)
      await at.release('x', key)
    }
    const fence = await grant('a')
    expect(fence).toBeGreaterThan(Math.max(...singles))
    for (const key of keys) expect(await at.store.inspect(key)).toMatchObject({ fence })
    expect(await at.store.release(keys, claimOf('a'))).toBe(true)
    for (const key of keys)
      expect((await at.grant('y', undefined, key)).fence).toBeGreaterThan(fence)
  })

  test('L14: one fence, higher than the last of each, also after a clock was set back', async () => {
    if (!at.store.remote) return
    const ahead = await at.grant('x', undefined, keys[1])
    await at.release('x', keys[1])
    await at.advance(-3_600_000)
    const fence = await grant('a')
    const holders = await Promise.all(keys.map((key) => at.store.inspect(key)))
    await at.advance(3_600_000)
    expect(fence).toBeGreaterThan(ahead.fence)
    expect(fence - ahead.fence).toBeLessThan(60_000_000)
    for (const holder of holders) expect(holder).toMatchObject({ fence })
  })

  test.each([0, 1, 2])('L14: none is taken while number %s is held', async (index) => {
    await at.grant('x', undefined, keys[index])
    const reply = await acquire('a')
    if (reply.state !== 'held') throw new Error(reply.state)
    expect(reply.leftMs).toSatisfy(near(LEASE_MS))
    expect(reply.since).toBeUndefined()
    for (const key of keys)
      expect((await at.acquire('y', undefined, key)).state).toBe(
        key === keys[index] ? 'held' : 'granted',
      )
  })

  test('L4: the same claim again is the same grant', async () => {
    const fence = await grant('a')
    await at.advance(10_000)
    expect(await grant('a')).toBe(fence)
    for (const key of keys)
      expect((await at.store.inspect(key))?.remainingMs).toSatisfy(near(LEASE_MS))
  })

  test('L14: locks that were taken one by one get a common fence', async () => {
    const singles: number[] = []
    for (const key of keys) singles.push((await at.grant('a', undefined, key)).fence)
    const fence = await grant('a')
    expect(fence).toBeGreaterThan(Math.max(...singles))
    expect(await grant('a')).toBe(fence)
    for (const key of keys) expect(await at.store.inspect(key)).toMatchObject({ fence })
  })

  test('L14: what is lost of them is released no more, the others are', async () => {
    const fence = await grant('a')
    const lost = keys[1] as string
    await at.release('a', lost)
    const other = await at.grant('x', undefined, lost)
    expect(await at.store.extend(keys, { ...claimOf('a'), fence }, 60_000)).toBe(false)
    expect((await at.store.inspect(keys[0]))?.remainingMs).toSatisfy(near(LEASE_MS))
    expect(await at.store.release(keys, { ...claimOf('a'), fence })).toBe(false)
    for (const key of keys)
      expect((await at.store.inspect(key))?.fence).toBe(key === lost ? other.fence : undefined)
  })

  test('L14: all are extended', async () => {
    const fence = await grant('a')
    expect(await at.store.extend(keys, { ...claimOf('a'), fence }, 60_000)).toBe(true)
    for (const key of keys)
      expect((await at.store.inspect(key))?.remainingMs).toSatisfy(near(60_000))
  })

  test('L14: keys of different slots are refused where there are slots, by name', () => {
    const apart: LockKeys = ['one', 'two', 'three']
    const check = () => at.store.check(apart)
    if (at.place.slots) {
      expect(check).toThrow(ConfigurationError)
      expect(check).toThrow(/one.*two.*three/)
    } else expect(check).not.toThrow()
    expect(() => at.store.check(keys)).not.toThrow()
    expect(() => at.store.check(['one'])).not.toThrow()
  })
}
