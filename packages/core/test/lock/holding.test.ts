import { LeaseLostError, type LockEvent, subscribe } from '@sluice/core'
import { describe, expect, test, vi } from 'vitest'
import { LEASE_MS, pass, startFresh, store } from './fresh.ts'

startFresh()

describe('a lease that is not renewed', () => {
  test.each([0, 5000])(
    'L5: counts from just before its claim was sent (waitMs: %d)',
    async (waitMs) => {
      const delay = new Promise<void>((resolve) => setTimeout(resolve, 300))
      store.next('acquire', { until: delay })
      const asked = store.locker({ leaseMs: LEASE_MS }).acquire('k', { waitMs })
      await pass(300)
      expect((await asked).remainingMs()).toBeCloseTo(600)
    },
  )

  test('L5: that was passed on counts from just before that was asked for', async () => {
    const locker = store.locker({ leaseMs: LEASE_MS })
    const first = await locker.acquire('k')
    const next = locker.acquire('k', { waitMs: 5000 })
    await pass(100)
    const answered = new Promise<void>((resolve) => setTimeout(resolve, 300))
    store.next('pass', { answered })
    void first.release()
    await pass(300)
    expect((await next).remainingMs()).toBeCloseTo(600)
  })

  test('L8: costs no timer until somebody reads its signal', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    await pass(0)
    const idle = vi.getTimerCount() // the sweeper of the server's memory
    const { signal } = lease
    expect(vi.getTimerCount()).toBe(idle + 1)
    expect(signal.aborted).toBe(false)
    await lease.release()
    expect(vi.getTimerCount()).toBeLessThanOrEqual(idle)
  })

  test('L8, L9: aborts its signal before it ends', async () => {
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => events.push(event))
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    const { signal } = lease
    await pass(0.9 * LEASE_MS - 1)
    expect(signal.aborted).toBe(false)
    expect(lease.remainingMs()).toBeGreaterThan(0)
    await pass(2)
    stop()
    expect(signal.reason).toBeInstanceOf(LeaseLostError)
    expect(signal.reason).toMatchObject({ reason: 'silence' })
    expect(lease.remainingMs()).toBeLessThanOrEqual(0)
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'lease-lost', fence: lease.fence, reason: 'silence' }),
    )
  })

  test('L9: is known to be over even where no timer ran', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    const { signal } = lease
    vi.setSystemTime(Date.now() - 3_600_000) // the wall clock says nothing
    await pass(LEASE_MS - 1)
    expect(lease.remainingMs()).toBeLessThanOrEqual(1)
    await pass(1)
    expect(lease.remainingMs()).toBeLessThanOrEqual(0)
    expect(signal.aborted).toBe(true)
  })

  test('L9: has an aborted signal for whoever reads it late', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    await pass(2 * LEASE_MS)
    const { signal } = lease
    await pass(1)
    expect(signal.aborted).toBe(true)
  })

  test('L8: can be extended by its owner, but not past maxHoldMs', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS, maxHoldMs: 2000 }).acquire('k')
    const { signal } = lease
    await pass(600)
    await lease.extend()
    expect(lease.remainingMs()).toBeCloseTo(LEASE_MS)
    await pass(800)
    await lease.extend()
    expect(lease.remainingMs()).toBeCloseTo(600)
    expect((await store.locker().inspect('k'))?.remainingMs).toBeLessThanOrEqual(600)
    expect(signal.aborted).toBe(false)
    await pass(600)
    expect(signal.reason).toMatchObject({ reason: 'max-hold' })
    await expect(lease.extend()).rejects.toMatchObject({ code: 'lease-lost', reason: 'max-hold' })
    expect(await store.locker().inspect('k')).toBeUndefined()
  })

  test('L5: that nobody extended in time is lost, whatever the server still thinks', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    await pass(LEASE_MS)
    await expect(lease.extend()).rejects.toMatchObject({ code: 'lease-lost', reason: 'silence' })
    expect(store.count('extend')).toBe(0)
  })

  test('L5: counts from before an extension was sent, not from its answer', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    const answered = new Promise<void>((resolve) => setTimeout(resolve, 200))
    store.next('extend', { answered })
    const extended = lease.extend()
    await pass(200)
    await extended
    expect(lease.remainingMs()).toBeCloseTo(LEASE_MS - 200)
  })

  test.each([
    [{ leaseMs: 300 }, false],
    [{ leaseMs: 900, maxHoldMs: 300 }, true],
  ])('L5, L8: extended by an answer that came too late is lost (%o)', async (options, reads) => {
    const lease = await store.locker(options).acquire('k')
    if (reads) void lease.signal
    await pass(100)
    const answered = new Promise<void>((resolve) => setTimeout(resolve, 310))
    store.next('extend', { answered })
    const outcome = lease.extend().catch((error: unknown) => error)
    await pass(310)
    expect(lease.remainingMs()).toBeLessThanOrEqual(0)
    expect(await outcome).toBeInstanceOf(LeaseLostError)
  })

  test('L8: does not get longer by an extension of which nobody knows', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS, timeoutMs: 100 }).acquire('k')
    store.next('extend', 'loses its reply')
    await pass(500)
    const extended = lease.extend()
    extended.catch(() => {})
    await pass(101)
    await expect(extended).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(lease.remainingMs()).toBeCloseTo(299)
  })

  test('L8: is not longer than maxHoldMs from the beginning', async () => {
    const lease = await store.locker({ leaseMs: 1000, maxHoldMs: 300 }).acquire('k')
    expect(lease.remainingMs()).toBeLessThanOrEqual(300)
    expect((await store.locker().inspect('k'))?.remainingMs).toBeLessThanOrEqual(300)
  })

  test('is over for its owner with its release', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS }).acquire('k')
    const { signal } = lease
    await lease.release()
    expect(lease.remainingMs()).toBe(0)
    await expect(lease.extend()).rejects.toMatchObject({ code: 'lease-lost' })
    await pass(10 * LEASE_MS)
    expect(signal.aborted).toBe(false)
  })
})
