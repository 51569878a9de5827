import { type Lease, type Locker, LockTimeoutError } from '@sluice/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { MemoryLockStore } from '../../src/lock/memory-store.ts'
import { FarStore, server } from './far-store.ts'

let memory: MemoryLockStore
beforeEach(() => {
  vi.useFakeTimers()
  memory = server()
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** Another process with callers of its own. */
function process(): { readonly store: FarStore; readonly locker: Locker } {
  const store = new FarStore(memory)
  return { store, locker: store.locker() }
}

/** Holds the key for so long as soon as it has it, and writes down who it is. */
function hold(locker: Locker, name: string, log: string[], ms = 1): Promise<void> {
  return locker.using('k', { waitMs: 60_000 }, async () => {
    log.push(name)
    await new Promise((resolve) => setTimeout(resolve, ms))
  })
}

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

describe('several processes', () => {
  test('L6: one waiter is woken by a release, and no other', async () => {
    const holder = process()
    const waiting = [process(), process(), process()]
    const lease = await holder.locker.acquire('k')
    const log: string[] = []
    const all = waiting.map(({ locker }, name) => hold(locker, String(name), log, 1000))
    await pass(100)
    const before = waiting.map(({ store }) => store.count())
    await lease.release()
    await pass(1)
    expect(log).toEqual(['0'])
    expect(waiting.map(({ store }, i) => store.count() - (before[i] ?? 0))).toEqual([1, 0, 0])
    await pass(5000)
    await Promise.all(all)
    expect(log).toEqual(['0', '1', '2'])
  })

  test('L6: a call that got lost is made good within 5 s', async () => {
    const holder = process()
    const waiting = process()
    const lease = await store(holder).acquire('k')
    waiting.store.deaf = true
    const log: string[] = []
    const wait = hold(waiting.locker, 'deaf', log)
    await pass(100)
    await lease.release()
    await pass(5000)
    await wait
    expect(log).toEqual(['deaf'])
  })

  test('L6: a call that comes before an older answer is not forgotten', async () => {
    const holder = process()
    const waiting = process()
    const lease = await store(holder, 60_000).acquire('k')
    const log: string[] = []
    const wait = hold(waiting.locker, 'first', log)
    await pass(10)
    let answer = (): void => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    waiting.store.next('acquire', { answered })
    const asked = waiting.store.count('acquire')
    for (let ms = 0; waiting.store.count('acquire') === asked && ms < 5000; ms += 10) await pass(10)
    expect(waiting.store.count('acquire')).toBe(asked + 1)
    // It does not know yet that the key was held when it asked.
    await lease.release()
    answer()
    await pass(1)
    expect(log).toEqual(['first'])
    await pass(100)
    await wait
  })

  test('L6: a process that died in line is passed over', async () => {
    const holder = process()
    const dead = process()
    const waiting = process()
    const lease = await store(holder, 60_000).acquire('k')
    const never = dead.locker.acquire('k', { waitMs: 60_000 })
    never.catch(() => {})
    await pass(1)
    dead.store.broken = 'loses its request'
    dead.store.deaf = true
    const log: string[] = []
    const wait = hold(waiting.locker, 'alive', log, 10)
    await pass(3000)
    // Dead for less than its time: the key is kept for it for half a second, and then somebody asks.
    await lease.release()
    await pass(5000)
    await wait
    expect(log).toEqual(['alive'])
    const again = await store(holder, 60_000).acquire('k')
    const late = hold(waiting.locker, 'late', log, 10)
    await pass(12_000)
    await again.release()
    await pass(1)
    expect(log).toEqual(['alive', 'late'])
    await pass(100)
    await late
    await pass(60_000)
  })

  test.each([1, 3, 20])(
    'L6: %d that died at once are passed over within 5 s, by the server alone',
    async (count) => {
      const holder = process()
      const lease = await store(holder, 60_000).acquire('k')
      const waiting = process()
      for (let i = 0; i < count; i++) {
        const claim = { token: `dead ${i}`, leaseMs: 60_000, metadata: '' }
        await memory.acquire(['k'], claim, { waiter: `dead ${i}` })
      }
      const log: string[] = []
      const wait = hold(waiting.locker, 'alive', log)
      await pass(1)
      await lease.release()
      await pass(5000)
      expect(log).toEqual(['alive'])
      await pass(100)
      await wait
    },
  )

  test('L7: a process keeps its turn for 16 passes at most', async () => {
    const [a, b] = [process(), process()]
    const first = await a.locker.acquire('k', { waitMs: 1000 })
    const log: string[] = []
    const own = Array.from({ length: 40 }, () => hold(a.locker, 'a', log, 0))
    const other = Array.from({ length: 40 }, () => hold(b.locker, 'b', log, 0))
    await pass(0)
    void first.release()
    await pass(1000)
    await Promise.all([...own, ...other])
    const turns = log.join('').match(/a+|b+/g) ?? []
    expect(Math.max(...turns.map(({ length }) => length))).toBe(17)
    expect(turns.length).toBeGreaterThanOrEqual(4)
  })

  test('L7: with work that takes long, who came first is first', async () => {
    const [a, b, c] = [process(), process(), process()]
    const first = await store(a).acquire('k', { waitMs: 1000 })
    const log: string[] = []
    const all = [hold(a.locker, 'a1', log, 100)]
    await pass(60)
    all.push(hold(b.locker, 'b1', log, 100))
    await pass(60)
    all.push(hold(c.locker, 'c1', log, 100))
    await pass(60)
    all.push(hold(a.locker, 'a2', log, 100), hold(b.locker, 'b2', log, 100))
    void first.release()
    await pass(2000)
    await Promise.all(all)
    expect(log.slice(0, 3)).toEqual(['a1', 'b1', 'c1'])
    expect(log.slice(3).sort()).toEqual(['a2', 'b2'])
  })

  test('L6: one that was too slow for its turn stands where it stood', async () => {
    const [holder, slow, ...others] = [process(), process(), process(), process()]
    const lease = await store(holder, 60_000).acquire('k')
    const log: string[] = []
    const all = [hold(slow.locker, 'slow', log)]
    for (const [index, { locker }] of others.entries()) {
      await pass(10)
      all.push(hold(locker, `other ${index}`, log, 4000))
    }
    slow.store.deaf = true
    await lease.release()
    await pass(600) // its turn lapses
    expect(await holder.locker.tryAcquire('k')).toBeUndefined() // newcomers do not overtake
    slow.store.deaf = false
    await pass(20_000)
    await Promise.all(all)
    expect(log).toEqual(['other 0', 'slow', 'other 1'])
  })

  test('L3, L6: a lease that ends in silence makes room for who waits', async () => {
    const holder = process()
    const waiting = process()
    await store(holder, 300).acquire('k')
    const log: string[] = []
    const wait = hold(waiting.locker, 'next', log, 1)
    await pass(299)
    expect(log).toEqual([])
    await pass(10)
    expect(log).toEqual(['next'])
    await pass(10)
    await wait
  })
})

describe('a line whose store fails', () => {
  test('L6, L11: tells who never had an answer, at once', async () => {
    const { store, locker } = process()
    store.broken = 'fails'
    await expect(locker.acquire('k', { waitMs: 9000 })).rejects.toMatchObject({
      code: 'store-unavailable',
      reason: 'failure',
    })
  })

  test('L6: waits no longer than waitMs, and one deadline', async () => {
    const { store, locker } = process()
    store.broken = 'loses its request'
    const unavailable = { code: 'store-unavailable', reason: 'deadline' }
    const outcomes: unknown[] = []
    for (const waitMs of [100, 9000])
      locker.acquire(`k ${waitMs}`, { waitMs }).catch((error: unknown) => outcomes.push(error))
    await pass(100)
    expect(outcomes).toEqual([expect.objectContaining(unavailable)])
    await pass(401)
    expect(outcomes).toHaveLength(2)
    expect(outcomes[1]).toMatchObject(unavailable)
  })

  test('L6: keeps those who stand in line, and serves them when it is back', async () => {
    const holder = process()
    const waiting = process()
    const lease = await store(holder, 20_000).acquire('k')
    const log: string[] = []
    const wait = hold(waiting.locker, 'patient', log)
    await pass(100)
    waiting.store.broken = 'fails'
    await pass(5000)
    await lease.release()
    waiting.store.broken = undefined
    await pass(5000)
    await wait
    expect(log).toEqual(['patient'])
  })

  test('L6, L11: tells those who come then, at the next attempt', async () => {
    const holder = process()
    const waiting = process()
    await store(holder, 60_000).acquire('k')
    const patient = waiting.locker.acquire('k', { waitMs: 20_000 })
    patient.catch(() => {})
    await pass(100)
    waiting.store.broken = 'fails'
    await pass(5000)
    const told = vi.fn()
    waiting.locker.acquire('k', { waitMs: 15_000 }).catch(told)
    await pass(1000)
    expect(told).toHaveBeenCalledWith(expect.objectContaining({ code: 'store-unavailable' }))
    await pass(20_000)
  })

  test('L6: says at the end of the wait that the last answer is missing', async () => {
    const holder = process()
    const waiting = process()
    await store(holder, 60_000).acquire('k')
    const outcomes: unknown[] = []
    const wait = waiting.locker.acquire('k', { waitMs: 9000 })
    wait.catch((error: unknown) => outcomes.push(error))
    await pass(100)
    waiting.store.broken = 'fails'
    await pass(8900)
    expect(outcomes).toEqual([expect.objectContaining({ code: 'store-unavailable' })])
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

/** A locker of the same process whose leases last longer, or shorter. */
function store({ store }: { readonly store: FarStore }, leaseMs = 10_000): Locker {
  return store.locker({ leaseMs })
}
