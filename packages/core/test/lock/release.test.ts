import { type LockEvent, subscribe } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { LEASE_MS, pass, startFresh, store } from './fresh.ts'

startFresh()

describe('a release that the store does not confirm', () => {
  test('L10: rejects after one deadline, and is tried again until it is done', async () => {
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => events.push(event))
    const locker = store.locker({ timeoutMs: 100 })
    const lease = await locker.acquire('k')
    store.broken = 'loses its request'
    const released = lease.release()
    released.catch(() => {})
    await pass(101)
    await expect(released).rejects.toMatchObject({ code: 'store-unavailable' })
    await pass(1000)
    store.broken = undefined
    await pass(500)
    stop()
    expect(await locker.inspect('k')).toBeUndefined()
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'release-delayed', 'released'])
    expect(events.at(-1)).toMatchObject({ outcome: 'released' })
  })

  test('L10: is given up when the lease is over anyway', async () => {
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => events.push(event))
    const lease = await store.locker({ leaseMs: LEASE_MS, timeoutMs: 100 }).acquire('k')
    store.broken = 'fails'
    await expect(lease.release()).rejects.toMatchObject({ code: 'store-unavailable' })
    await pass(2 * LEASE_MS)
    const attempts = store.count('release')
    await pass(10 * LEASE_MS)
    stop()
    expect(store.count('release')).toBe(attempts)
    expect(events.at(-1)).toMatchObject({ type: 'released', outcome: 'unknown' })
  })
})
