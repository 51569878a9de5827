import { describe, expect, test } from 'vitest'
import { FarStore, server } from './far-store.ts'
import { LEASE_MS, pass, startFresh, store } from './fresh.ts'

startFresh()

describe('a lease that is renewed', () => {
  test('L8: while `using` runs, and not longer', async () => {
    const other = new FarStore(server())
    const work = other
      .locker({ leaseMs: LEASE_MS })
      .using('k', {}, () => new Promise((resolve) => setTimeout(resolve, 5000)))
    await pass(4900)
    const renewals = other.count('extend')
    expect(renewals).toBeGreaterThanOrEqual(14)
    await pass(200)
    await work
    await pass(5000)
    expect(other.count('extend')).toBe(renewals)
    expect(await other.locker().inspect('k')).toBeUndefined()
  })

  test('L8: after `acquire` too, if the locker says so; with `renew: false` not even in `using`', async () => {
    const renewed = await store.locker({ leaseMs: LEASE_MS, renew: true }).acquire('a')
    const plain = store.locker({ leaseMs: LEASE_MS, renew: false })
    const signals: AbortSignal[] = []
    const work = plain.using('b', {}, async ({ signal }) => {
      signals.push(signal)
      await new Promise((resolve) => setTimeout(resolve, 2000))
    })
    await pass(2000)
    await work
    expect(renewed.remainingMs()).toBeGreaterThan(0)
    expect(renewed.signal.aborted).toBe(false)
    expect(signals[0]?.aborted).toBe(true)
    await renewed.release()
  })

  test('L8: ends at maxHoldMs on the server too, and its signal is aborted before', async () => {
    const locker = store.locker({ leaseMs: LEASE_MS, maxHoldMs: 3000, renew: true })
    const lease = await locker.acquire('k')
    let abortedAfterMs: number | undefined
    const startedAt = performance.now()
    lease.signal.addEventListener('abort', () => {
      abortedAfterMs = performance.now() - startedAt
    })
    await pass(2999)
    expect(await locker.inspect('k')).toBeDefined()
    expect(abortedAfterMs).toBeLessThan(2999)
    expect(abortedAfterMs).toBeGreaterThan(2500)
    expect(lease.signal.reason).toMatchObject({ reason: 'max-hold' })
    await pass(1)
    expect(await locker.inspect('k')).toBeUndefined()
    expect(await lease.release()).toBe('already-lost')
  })

  test('L8: rides out a failure that is shorter than what is left of it', async () => {
    const lease = await store.locker({ leaseMs: LEASE_MS, renew: true, timeoutMs: 50 }).acquire('k')
    store.next('extend', 'fails', 'loses its request', 'fails')
    await pass(3000)
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remainingMs()).toBeGreaterThan(500)
    await lease.release()
  })

  test('L8, L11: is lost as soon as the server says that it is', async () => {
    const memory = server()
    const far = new FarStore(memory)
    const lease = await far.locker({ leaseMs: LEASE_MS, renew: true }).acquire('k')
    await memory.release(['k'], { token: lease.token, leaseMs: LEASE_MS, metadata: '' })
    await pass(LEASE_MS / 3)
    expect(lease.signal.reason).toMatchObject({ code: 'lease-lost', reason: 'taken' })
    expect(lease.remainingMs()).toBe(0)
    expect(await lease.release()).toBe('already-lost')
  })
})
