import { LockTimeoutError } from '@sluice/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FarStore, server } from './far-store.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

const places = [
  { name: 'of a locker without hand-over', lines: true, handOver: false },
  { name: 'of a store without lines', lines: false, handOver: true },
]

describe.each(places)('a wait $name', ({ lines, handOver }) => {
  function process(memory = server()) {
    const store = new FarStore(memory, lines)
    return { store, locker: store.locker({ handOver, timeoutMs: 100 }) }
  }

  test('L6: asks again, less and less often, and stands in no line', async () => {
    const { store, locker } = process()
    const lease = await locker.acquire('k')
    const wait = locker.acquire('k', { waitMs: 60_000 })
    await pass(9000)
    expect(store.count('acquire')).toBeGreaterThan(20)
    expect(store.count('acquire')).toBeLessThan(120)
    expect((await locker.inspect('k'))?.waiters).toBe(0)
    await lease.release()
    await pass(500)
    expect((await wait).fence).toBeGreaterThan(lease.fence)
    expect(store.count('pass') + store.count('leave')).toBe(0)
  })

  test('L6: takes exactly its time', async () => {
    const { locker } = process()
    await locker.acquire('k')
    const outcome = locker.acquire('k', { waitMs: 1234 }).catch((error: unknown) => error)
    await pass(1234)
    expect(await outcome).toBeInstanceOf(LockTimeoutError)
    expect(await outcome).toMatchObject({ waitedMs: 1234 })
  })

  test('L6: ends at once when it is aborted, with the reason', async () => {
    const { store, locker } = process()
    await locker.acquire('k')
    const controller = new AbortController()
    const { signal } = controller
    const outcome = locker.acquire('k', { waitMs: 5000, signal }).catch((reason: unknown) => reason)
    await pass(700)
    controller.abort('enough')
    expect(await outcome).toBe('enough')
    const asked = store.count()
    await pass(5000)
    expect(store.count()).toBe(asked)
  })

  test('L6, L11: fails at once where it never had an answer', async () => {
    const { store, locker } = process()
    store.broken = 'fails'
    const unavailable = { code: 'store-unavailable', reason: 'failure' }
    await expect(locker.acquire('k', { waitMs: 9000 })).rejects.toMatchObject(unavailable)
  })

  test('L6: outlives a failure of the store', async () => {
    const { store, locker } = process()
    const lease = await locker.acquire('k')
    const wait = locker.acquire('k', { waitMs: 9000 })
    await pass(100)
    store.broken = 'loses its request'
    await pass(3000)
    store.broken = undefined
    await lease.release()
    await pass(1000)
    expect((await wait).fence).toBeGreaterThan(lease.fence)
  })

  test('L6: says at its end that the last answer is missing', async () => {
    const { store, locker } = process()
    await locker.acquire('k')
    const outcome = locker.acquire('k', { waitMs: 2000 }).catch((error: unknown) => error)
    await pass(100)
    store.broken = 'loses its request'
    await pass(1900)
    expect(await outcome).toMatchObject({ code: 'store-unavailable', reason: 'deadline' })
  })

  test('L6: is no longer than waitMs where the store hangs from the beginning', async () => {
    const { store } = process()
    store.broken = 'loses its request'
    const slow = store.locker({ handOver, timeoutMs: 10_000 })
    const outcome = slow.acquire('k', { waitMs: 50 }).catch((error: unknown) => error)
    await pass(50)
    expect(await outcome).toMatchObject({ code: 'store-unavailable', reason: 'deadline' })
  })

  test('L14: takes several keys in one step', async () => {
    const { store, locker } = process()
    const b = await locker.acquire('b')
    const wait = locker.acquire(['a', 'b'], { waitMs: 60_000 })
    await pass(1000)
    expect(await locker.inspect('a')).toBeUndefined()
    await b.release()
    await pass(500)
    expect(await (await wait).release()).toBe('released')
    expect(store.count('pass')).toBe(0)
  })
})
