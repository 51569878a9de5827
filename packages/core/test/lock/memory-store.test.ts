import { createLocker, memoryStore, StoreUnavailableError } from '@sluice/core'
import { describe, expect, test } from 'vitest'

describe('a memory store', () => {
  function full(maxKeys = 3) {
    const clock = { now: 0 }
    const store = memoryStore({ maxKeys, now: () => clock.now })
    return { clock, store, locker: createLocker({ store, leaseMs: 1000 }) }
  }

  test('L18: that is full refuses new keys, and forgets none that is held', async () => {
    const { locker } = full()
    const leases = await Promise.all(['a', 'b', 'c'].map((key) => locker.acquire(key)))
    for (const key of ['d', 'e'])
      await expect(locker.acquire(key)).rejects.toMatchObject({
        code: 'store-unavailable',
        reason: 'full',
      })
    await expect(locker.acquire(['a', 'd'])).rejects.toMatchObject({ code: 'lock-timeout' })
    for (const lease of leases) expect(await lease.release()).toBe('released')
  })

  test('L18: has room again for what was released, or has ended', async () => {
    const { clock, locker } = full()
    const [first] = await Promise.all(['a', 'b', 'c'].map((key) => locker.acquire(key)))
    await first?.release()
    await locker.acquire('d')
    await expect(locker.acquire('e')).rejects.toThrow(StoreUnavailableError)
    clock.now += 1000
    for (const key of ['e', 'f', 'g']) await locker.acquire(key)
    await expect(locker.acquire('h')).rejects.toThrow(StoreUnavailableError)
  })

  test('L14, L18: that has no room for all of several keys takes none', async () => {
    const { locker } = full()
    await locker.acquire('a')
    await locker.acquire('b')
    await expect(locker.acquire(['c', 'd'])).rejects.toMatchObject({ reason: 'full' })
    expect(await locker.inspect('c')).toBeUndefined()
    await locker.acquire('c')
  })

  test('L2, L18: made after another one grants higher fences, also for keys of the first', async () => {
    const first = await createLocker({ store: memoryStore() }).acquire('k')
    const { locker } = full()
    const second = await locker.acquire('k')
    expect(second.fence).toBeGreaterThanOrEqual(first.fence)
    await second.release()
    expect((await locker.acquire('k')).fence).toBeGreaterThan(second.fence)
  })
})
