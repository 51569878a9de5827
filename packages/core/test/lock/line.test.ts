import { type Lease, LockTimeoutError } from '@sluice/core'
import { describe, expect, test, vi } from 'vitest'
import { pass, startFresh } from './fresh.ts'
import { hold, process } from './line-process.ts'

startFresh()

describe('callers of one process', () => {
  test('L6, L7: are served first come first served, one command each', async () => {
    const { store, locker } = process()
    const lease = await locker.acquire('k')
    const log: string[] = []
    const all = [1, 2, 3, 4, 5].map((name) => hold(locker, String(name), log))
    await pass(100)
    expect(log).toEqual([])
    const before = store.count()
    void lease.release()
    await pass(100)
    await Promise.all(all)
    expect(log).toEqual(['1', '2', '3', '4', '5'])
    expect(store.calls.slice(before)).toEqual(['pass', 'pass', 'pass', 'pass', 'pass', 'release'])
  })

  test('L6, L7: of several lockers on one store stand in one line', async () => {
    const one = process()
    const lease = await one.locker.acquire('k')
    const log: string[] = []
    const other = one.store.locker({ leaseMs: 5000 })
    const all = [hold(one.locker, '1', log), hold(other, '2', log), hold(one.locker, '3', log)]
    await pass(10)
    expect((await one.locker.inspect('k'))?.waiters).toBe(1)
    void lease.release()
    await pass(100)
    await Promise.all(all)
    expect(log).toEqual(['1', '2', '3'])
    expect(one.store.count('pass')).toBe(3)
  })

  test('L6: wait with one waiter and few commands, however many they are', async () => {
    const { locker } = process()
    const other = process()
    await locker.acquire('k', {})
    const waits = Array.from({ length: 50 }, () => other.locker.acquire('k', { waitMs: 9000 }))
    const refused = Promise.allSettled(waits)
    await pass(0)
    expect((await locker.inspect('k'))?.waiters).toBe(1)
    await pass(8999)
    expect(other.store.count()).toBeLessThanOrEqual(6)
    await pass(1)
    for (const wait of await refused)
      expect(wait).toMatchObject({ reason: expect.any(LockTimeoutError) })
    expect(other.store.calls.at(-1)).toBe('leave')
    expect((await locker.inspect('k'))?.waiters).toBe(0)
  })

  test('L6: do not ask often where a short lease is renewed for ever', async () => {
    const { store } = process()
    const other = process()
    await store.locker({ leaseMs: 100, renew: true }).acquire('k')
    const waits = Array.from({ length: 50 }, () => other.locker.acquire('k', { waitMs: 20_000 }))
    const refused = Promise.allSettled(waits)
    await pass(10_000)
    expect(other.store.count()).toBeLessThanOrEqual(20)
    await pass(10_000)
    await refused
  })

  test('L6: have exactly their time', async () => {
    const { locker } = process()
    await locker.acquire('k')
    const refused = vi.fn()
    locker.acquire('k', { waitMs: 1234 }).catch(refused)
    await pass(1233)
    expect(refused).not.toHaveBeenCalled()
    await pass(1)
    expect(refused).toHaveBeenCalledOnce()
    expect(refused.mock.calls[0]?.[0]).toMatchObject({ waitedMs: 1234, leftMs: 10_000 - 1234 })
  })

  test('L6, L11: leave at once when they are aborted, with the reason', async () => {
    const { store, locker } = process()
    const lease = await locker.acquire('k')
    const controller = new AbortController()
    const { signal } = controller
    const waits = [1, 2, 3].map(() => locker.acquire('k', { waitMs: 9000, signal }))
    const outcomes = Promise.allSettled(waits)
    const log: string[] = []
    const patient = hold(locker, 'patient', log)
    await pass(100)
    controller.abort('enough')
    for (const outcome of await outcomes)
      expect(outcome).toEqual({ status: 'rejected', reason: 'enough' })
    void lease.release()
    await pass(10)
    await patient
    expect(log).toEqual(['patient'])
    expect(store.count('leave')).toBe(0)
  })

  test('L6: that leave while they are asked for hand on what they are granted', async () => {
    const first = process()
    const second = process()
    const controller = new AbortController()
    const delay = new Promise<void>((resolve) => setTimeout(resolve, 200))
    first.store.next('acquire', { until: delay })
    const { signal } = controller
    const gone = first.locker.acquire('k', { waitMs: 9000, signal }).catch(() => 'gone')
    await pass(100)
    controller.abort()
    expect(await gone).toBe('gone')
    await pass(101)
    expect(first.store.calls).toEqual(['acquire', 'release'])
    await using lease = await second.locker.acquire('k')
    expect(lease.fence).toBeGreaterThan(0)
  })

  test('L6: that leave while they are asked for leave it to the next of them', async () => {
    const { store, locker } = process()
    const controller = new AbortController()
    const delay = new Promise<void>((resolve) => setTimeout(resolve, 200))
    store.next('acquire', { until: delay })
    const { signal } = controller
    const gone = locker.acquire('k', { waitMs: 9000, signal }).catch(() => 'gone')
    const log: string[] = []
    const next = hold(locker, 'next', log)
    await pass(100)
    controller.abort()
    expect(await gone).toBe('gone')
    await pass(110)
    await next
    expect(log).toEqual(['next'])
    expect(store.calls).toEqual(['acquire', 'pass', 'release'])
  })
})

test('a line that nobody uses any more leaves nothing behind', async () => {
  const { locker } = process()
  const before = vi.getTimerCount()
  const lease: Lease = await locker.acquire('k')
  const wait = locker.acquire('k', { waitMs: 100 }).catch(() => {})
  await pass(100)
  await wait
  await lease.release()
  await pass(70_000)
  expect(vi.getTimerCount()).toBe(before)
})
