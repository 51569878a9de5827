import { type LockEvent, subscribe } from '@sluice/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FarStore, server } from './far-store.ts'

const LEASE_MS = 3000
const TIMEOUT_MS = 100

let store: FarStore
let events: LockEvent[]
let stop: () => void
beforeEach(() => {
  vi.useFakeTimers()
  store = new FarStore(server())
  events = []
  stop = subscribe('sluice:lock', (event) => events.push(event))
})
afterEach(() => {
  stop()
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const unavailable = expect.objectContaining({ code: 'store-unavailable' })

/** Acquires, and waits until that has failed. */
async function acquireInVain(waitMs = 0): Promise<void> {
  const locker = store.locker({ leaseMs: LEASE_MS, timeoutMs: TIMEOUT_MS })
  const outcome = locker.acquire('k', { waitMs }).catch((error: unknown) => error)
  await pass(TIMEOUT_MS + 1)
  expect(await outcome).toEqual(unavailable)
}

const holder = () => store.locker().inspect('k')
const cleanedUp = () => events.filter(({ type }) => type === 'cleaned-up')

describe.each([0, 5000])('an acquire with an uncertain outcome (waitMs: %d)', (waitMs) => {
  test('L3: that was executed is undone at once', async () => {
    store.next('acquire', 'loses its reply')
    await acquireInVain(waitMs)
    await pass(0)
    expect(await holder()).toBeUndefined()
  })

  test('L3: is undone within a second after the store is back', async () => {
    store.next('acquire', 'loses its reply')
    store.next('release', ...new Array<'fails'>(100).fill('fails'))
    await acquireInVain(waitMs)
    await pass(2000)
    expect(await holder()).toBeDefined()
    store.clear()
    await pass(300)
    expect(await holder()).toBeUndefined()
  })

  test('L3: that arrives after the release that undoes it is undone again', async () => {
    let arrive = (): void => {}
    const arrives = new Promise<void>((resolve) => {
      arrive = resolve
    })
    store.next('acquire', { until: arrives })
    await acquireInVain(waitMs)
    await pass(10 * LEASE_MS)
    expect(store.count('release')).toBeGreaterThan(1)
    arrive()
    await pass(10)
    expect(store.calls.at(-1)).toBe('release')
    expect(await holder()).toBeUndefined()
    await pass(10 * LEASE_MS)
    expect(cleanedUp()).toEqual([expect.objectContaining({ outcome: 'released' })])
  })

  test('L3: that its client sends again, after it was undone, is undone again', async () => {
    const again = new Promise<void>((resolve) => setTimeout(resolve, 1000))
    store.next('acquire', { again })
    await acquireInVain(waitMs)
    await pass(10)
    expect(await holder()).toBeUndefined()
    await pass(1000)
    expect(await holder()).toBeUndefined()
    expect(store.count('release')).toBe(2)
    await pass(10 * LEASE_MS)
    expect(store.count('release')).toBe(2)
    expect(cleanedUp()).toEqual([expect.objectContaining({ outcome: 'released' })])
  })

  test('L3: that its store refused in the end needs no more attempts', async () => {
    await using lease = await store.locker({ leaseMs: 60_000 }).acquire('k')
    const answered = new Promise<void>((resolve) => setTimeout(resolve, 1000))
    store.next('acquire', { answered })
    await acquireInVain(waitMs)
    await pass(1000)
    const releases = store.count('release')
    await pass(10_000)
    expect(store.count('release')).toBe(releases)
    expect(cleanedUp()).toEqual([expect.objectContaining({ outcome: 'not-held' })])
    expect((await holder())?.fence).toBe(lease.fence)
  })

  test('L3: that arrives after its connection broke is undone too', async () => {
    store.next('acquire', 'fails')
    await acquireInVain(waitMs)
    const releases = store.count('release')
    await pass(LEASE_MS - 500)
    expect(store.count('release')).toBeGreaterThan(releases)
    await pass(2 * LEASE_MS)
    const last = store.count('release')
    await pass(10 * LEASE_MS)
    expect(store.count('release')).toBe(last)
    expect(last).toBeLessThan(12)
    expect(cleanedUp()).toEqual([expect.objectContaining({ outcome: 'not-held' })])
  })

  test('L3: is nobody else’s lease', async () => {
    await using lease = await store.locker().acquire('k')
    store.next('acquire', 'loses its request')
    await acquireInVain(waitMs)
    await pass(10_000 - 500)
    expect((await holder())?.fence).toBe(lease.fence)
  })
})

test('L3: an acquire that is aborted under way is undone', async () => {
  store.next('acquire', 'loses its reply')
  const controller = new AbortController()
  const { signal } = controller
  const outcome = store
    .locker()
    .acquire('k', { signal })
    .catch((reason: unknown) => reason)
  await pass(10)
  controller.abort('gone')
  expect(await outcome).toBe('gone')
  await pass(1)
  expect(await holder()).toBeUndefined()
})

test('L5: a grant that comes after its lease is none', async () => {
  const delay = new Promise<void>((resolve) => setTimeout(resolve, 80))
  store.next('acquire', { until: delay })
  const outcome = store
    .locker({ leaseMs: 60 })
    .acquire('k')
    .catch((error: unknown) => error)
  await pass(80)
  expect(await outcome).toEqual(unavailable)
  await pass(1)
  expect(await holder()).toBeUndefined()
})

test('L5: who waits for a grant that comes too late asks for another', async () => {
  const delay = new Promise<void>((resolve) => setTimeout(resolve, 80))
  store.next('acquire', { until: delay })
  const wait = store.locker({ leaseMs: 60 }).acquire('k', { waitMs: 1000 })
  await pass(81)
  const lease = await wait
  expect(lease.remainingMs()).toBeGreaterThan(50)
  expect(await lease.release()).toBe('released')
})

describe('a pass with an uncertain outcome', () => {
  test.each(['loses its reply', 'loses its request', 'fails'] as const)(
    'L3: that %s leaves no lease behind, and the next caller gets the key',
    async (fate) => {
      const locker = store.locker({ leaseMs: LEASE_MS, timeoutMs: TIMEOUT_MS })
      const lease = await locker.acquire('k', { waitMs: 100 })
      const wait = locker.acquire('k', { waitMs: 5000 })
      await pass(60)
      store.next('pass', fate)
      const released = lease.release().catch((error: unknown) => error)
      await pass(TIMEOUT_MS + 1)
      expect(await released).toEqual(unavailable)
      await pass(1000)
      const next = await wait
      expect(next.fence).toBeGreaterThan(lease.fence)
      expect(await next.release()).toBe('released')
      await pass(10 * LEASE_MS)
      expect(await holder()).toBeUndefined()
    },
  )
})
