import { ConfigurationError, LockTimeoutError } from '@sluice/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { MemoryLockStore } from '../../src/lock/memory-store.ts'
import { FarStore, server } from './far-store.ts'

const LEASE_MS = 900

let memory: MemoryLockStore
let store: FarStore
beforeEach(() => {
  vi.useFakeTimers()
  memory = server()
  store = new FarStore(memory)
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const fenceOf = async (key: string) => (await memory.inspect(key))?.fence

describe('several keys at once', () => {
  test('L14: get one fence, higher than the last of each', async () => {
    const locker = store.locker()
    const last = await locker.acquire('b')
    await last.release()
    const lease = await locker.acquire(['c', 'a', 'b', 'a'])
    expect(lease.key).toEqual(['c', 'a', 'b', 'a'])
    expect(lease.fence).toBeGreaterThan(last.fence)
    for (const key of ['a', 'b', 'c']) expect(await fenceOf(key)).toBe(lease.fence)
    await lease.extend()
    expect(await lease.release()).toBe('released')
    for (const key of ['a', 'b', 'c']) expect(await fenceOf(key)).toBeUndefined()
  })

  test('L14: are taken all or none', async () => {
    const locker = store.locker()
    await locker.acquire('b')
    expect(await locker.tryAcquire(['a', 'b'])).toBeUndefined()
    expect(await fenceOf('a')).toBeUndefined()
    expect(store.calls).toEqual(['acquire', 'acquire'])
  })

  test('L14: are gathered while they wait, and sealed with one fence', async () => {
    const other = new FarStore(memory).locker()
    const locker = store.locker({ leaseMs: LEASE_MS })
    const [a, c] = [await other.acquire('a'), await other.acquire('c')]
    const wait = locker.acquire(['c', 'b', 'a'], { waitMs: 60_000 })
    await pass(100)
    await a.release()
    await pass(5000)
    // In order: `b` comes before `c`, and both `a` and `b` are kept as long as it takes.
    expect(await fenceOf('a')).toBeDefined()
    expect(await fenceOf('b')).toBeDefined()
    expect(await fenceOf('c')).toBe(c.fence)
    await c.release()
    await pass(5)
    const lease = await wait
    expect(lease.remainingMs()).toBeGreaterThan(LEASE_MS - 10)
    for (const key of ['a', 'b', 'c']) expect(await fenceOf(key)).toBe(lease.fence)
    expect(lease.fence).toBeGreaterThan(c.fence)
    const renewals = store.count('extend')
    await pass(LEASE_MS)
    expect(store.count('extend')).toBe(renewals)
    for (const key of ['a', 'b', 'c']) expect(await fenceOf(key)).toBeUndefined()
  })

  test('L14: leave none behind when the wait is over', async () => {
    const other = new FarStore(memory).locker()
    await other.acquire('b')
    const refused = store.locker().acquire(['a', 'b'], { waitMs: 500 })
    const outcome = refused.catch((error: unknown) => error)
    await pass(499)
    expect(await fenceOf('a')).toBeDefined()
    await pass(2)
    expect(await outcome).toBeInstanceOf(LockTimeoutError)
    expect(await outcome).toMatchObject({ key: ['a', 'b'], waitedMs: 500 })
    expect(await fenceOf('a')).toBeUndefined()
    expect((await memory.inspect('b'))?.waiters).toBe(0)
  })

  test('L6, L14: leave none behind when they are aborted, and reject with the reason', async () => {
    const other = new FarStore(memory).locker()
    await other.acquire('b')
    const controller = new AbortController()
    const { signal } = controller
    const wait = store.locker().acquire(['a', 'b'], { waitMs: 5000, signal })
    const outcome = wait.catch((reason: unknown) => reason)
    await pass(100)
    controller.abort('enough')
    expect(await outcome).toBe('enough')
    await pass(1)
    expect(await fenceOf('a')).toBeUndefined()
  })

  test('L14: are gathered anew when one was lost meanwhile', async () => {
    const other = new FarStore(memory).locker()
    const b = await other.acquire('b')
    const locker = store.locker({ leaseMs: LEASE_MS, timeoutMs: 100 })
    const wait = locker.acquire(['a', 'b'], { waitMs: 60_000 })
    await pass(100)
    store.next('extend', ...new Array<'fails'>(100).fill('fails'))
    await pass(2 * LEASE_MS)
    store.clear()
    await b.release()
    await pass(100)
    const lease = await wait
    for (const key of ['a', 'b']) expect(await fenceOf(key)).toBe(lease.fence)
  })

  test('L3, L14: leave none behind when a step is uncertain', async () => {
    const other = new FarStore(memory).locker()
    const b = await other.acquire('b')
    const locker = store.locker({ leaseMs: LEASE_MS, timeoutMs: 100 })
    const wait = locker.acquire(['a', 'b'], { waitMs: 60_000 })
    const outcome = wait.catch((error: unknown) => error)
    await pass(100)
    store.next('acquire', 'loses its reply')
    await b.release()
    await pass(110)
    expect(await outcome).toMatchObject({ code: 'store-unavailable' })
    await pass(10)
    for (const key of ['a', 'b']) expect(await fenceOf(key)).toBeUndefined()
  })

  test('L14: that the store cannot take together are a wrong configuration, and no failure', async () => {
    const wrong = new ConfigurationError('acquire', 'keys', ['a', 'b'], 'keys of one hash slot')
    for (const waitMs of [0, 5000]) {
      store.next('acquire', wrong)
      await expect(store.locker().acquire(['a', 'b'], { waitMs })).rejects.toBe(wrong)
    }
    await pass(10_000)
    expect(store.calls).toEqual(['acquire', 'acquire'])
  })

  test('L14: do not wait for each other, in whatever order they are named', async () => {
    const stores = [new FarStore(memory), new FarStore(memory), new FarStore(memory)]
    const orders = [
      ['a', 'b', 'c'],
      ['c', 'b', 'a'],
      ['b', 'c', 'a'],
    ]
    let done = 0
    let inside = 0
    const works = stores.flatMap((one, i) =>
      Array.from({ length: 5 }, () =>
        one.locker().using(orders[i] ?? [], { waitMs: 60_000 }, async () => {
          expect(++inside).toBe(1)
          await new Promise((resolve) => setTimeout(resolve, 10))
          inside--
          done++
        }),
      ),
    )
    await pass(30_000)
    await Promise.all(works)
    expect(done).toBe(15)
  })

  test('L6: make room at once for who just came for one of them', async () => {
    const other = new FarStore(memory).locker()
    const b = await other.acquire('b')
    const locker = store.locker()
    const gathered = locker.acquire(['a', 'b'], { waitMs: 5000 })
    await pass(1)
    await b.release()
    await pass(1)
    const lease = await gathered
    const wait = locker.acquire('a', { waitMs: 5000 })
    await lease.release()
    await pass(1)
    expect(store.calls.at(-1)).toBe('acquire')
    expect((await wait).fence).toBeGreaterThan(lease.fence)
  })

  test('L6: wake who waits for one of them', async () => {
    const locker = store.locker()
    const lease = await locker.acquire(['a', 'b'], { waitMs: 100 })
    const wait = locker.acquire('b', { waitMs: 5000 })
    await pass(10)
    void lease.release()
    await pass(1)
    expect((await wait).fence).toBeGreaterThan(lease.fence)
  })
})
