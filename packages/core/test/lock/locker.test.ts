import { setImmediate } from 'node:timers/promises'
import {
  createLocker,
  type LockEvent,
  LockTimeoutError,
  memoryStore,
  subscribe,
} from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { FarStore } from './far-store.ts'

describe('a locker', () => {
  test('L1, L11: grants a key once, and refuses by a value or an error', async () => {
    const locker = createLocker({ store: memoryStore() })
    const lease = await locker.acquire('order:1')
    expect(lease.key).toBe('order:1')
    expect(lease.token).toMatch(/^[\w-]{22}$/)
    expect(await locker.tryAcquire('order:1')).toBeUndefined()
    const refused = await locker.acquire('order:1').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(LockTimeoutError)
    expect(refused).toMatchObject({ code: 'lock-timeout', key: 'order:1', waitedMs: 0 })
    expect((refused as LockTimeoutError).leftMs).toBeGreaterThan(9000)
    expect(await lease.release()).toBe('released')
    expect(await lease.release()).toBe('released')
    await using again = await locker.acquire('order:1')
    expect(again.fence).toBeGreaterThan(lease.fence)
    expect(again.token).not.toBe(lease.token)
  })

  test('L2: mints fences that are safe integers, and at least the time in microseconds', async () => {
    const locker = createLocker({ store: memoryStore() })
    const before = Date.now() * 1000
    let last = before - 1
    for (let i = 0; i < 100; i++) {
      const lease = await locker.acquire('k')
      expect(Number.isSafeInteger(lease.fence)).toBe(true)
      expect(lease.fence).toBeGreaterThan(last)
      last = lease.fence
      await lease.release()
    }
  })

  test('L10: `using` brings what the work brings, and releases in any case', async () => {
    const locker = createLocker({ store: memoryStore() })
    expect(await locker.using('k', {}, ({ fence }) => fence > 0)).toBe(true)
    const broken = new Error('the work failed')
    const work = locker.using('k', {}, async () => {
      throw broken
    })
    await expect(work).rejects.toBe(broken)
    expect(await locker.inspect('k')).toBeUndefined()
    const without = Reflect.apply(locker.using, locker, ['k', {}])
    await expect(without).rejects.toThrow(/^using: `work` must be a function/)
  })

  test('L10: `using` masks neither a result nor an error by a release that fails', async () => {
    const store = new FarStore()
    const locker = store.locker({ timeoutMs: 20 })
    store.next('release', 'fails', 'loses its request')
    expect(await locker.using('k', {}, () => 'done')).toBe('done')
    const broken = new Error('the work failed')
    await expect(
      locker.using('other', {}, () => {
        throw broken
      }),
    ).rejects.toBe(broken)
  })

  test('L10: a release says that the lease was lost already', async () => {
    let now = 0
    const locker = createLocker({ store: memoryStore({ now: () => now }), leaseMs: 1000 })
    const late = await locker.acquire('k')
    now += 1000
    await using next = await locker.acquire('k')
    expect(await late.release()).toBe('already-lost')
    expect(await next.release()).toBe('released')
  })

  test('L17: tells who holds a key', async () => {
    let now = 0
    const locker = createLocker({ store: memoryStore({ now: () => now }), leaseMs: 1000 })
    expect(await locker.inspect('k')).toBeUndefined()
    const metadata = { by: 'worker 1', since: [1, null] }
    const { fence } = await locker.acquire('k', { metadata })
    now += 400
    const state = { fence, metadata, heldMs: 400, remainingMs: 600, waiters: 0 }
    expect(await locker.inspect('k')).toEqual(state)
    await locker.acquire('plain')
    expect(await locker.inspect('plain')).toMatchObject({ metadata: undefined })
    now += 600
    expect(await locker.inspect('k')).toBeUndefined()
  })

  test('reports on sluice:lock, by hashes of keys and without tokens', async () => {
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => events.push(event))
    const locker = createLocker({ store: memoryStore(), leaseMs: 1000 })
    const lease = await locker.acquire('secret')
    await locker.tryAcquire('secret')
    await lease.release()
    await locker.using(['a', 'b'], {}, () => {})
    stop()
    const { fence } = lease
    const keyHash = expect.stringMatching(/^[0-9a-f]{16}$/)
    expect(events.slice(0, 3)).toEqual([
      { type: 'acquired', keyHash, fence, waitMs: expect.any(Number) },
      { type: 'timed-out', keyHash, waitedMs: expect.any(Number) },
      {
        type: 'released',
        keyHash,
        fence,
        holdMs: expect.any(Number),
        leaseRatio: expect.any(Number),
        outcome: 'released',
      },
    ])
    expect(events[3]?.keyHash).toMatch(/^[0-9a-f]{16},[0-9a-f]{16}$/)
    expect(JSON.stringify(events)).not.toContain(lease.token)
    expect(JSON.stringify(events)).not.toContain('secret')
  })
})

describe.each([true, false])('an abort just after the call, with handOver: %s', (handOver) => {
  test.each([
    ['k', 0],
    ['k', 60_000],
    [['a', 'k'], 0],
    [['a', 'k'], 60_000],
    ['free', 0],
    ['free', 60_000],
    [['free', 'a'], 60_000],
  ])('L6, L18: ends it at once, with the reason (%j, waitMs: %d)', async (key, waitMs) => {
    const store = memoryStore()
    await using _held = await createLocker({ store }).acquire('k')
    const controller = new AbortController()
    const { signal } = controller
    const locker = createLocker({ store, handOver })
    const outcome = locker.acquire(key, { waitMs, signal }).catch((reason: unknown) => reason)
    controller.abort('enough')
    expect(await Promise.race([outcome, setImmediate('still waiting')])).toBe('enough')
    for (const free of ['a', 'free']) expect(await locker.inspect(free)).toBeUndefined()
    expect(await locker.inspect('k')).toMatchObject({ waiters: 0 })
  })
})

test('L18: lockers without a store share one, in the whole process', async () => {
  await using lease = await createLocker().acquire('shared by default')
  expect(await createLocker().tryAcquire('shared by default')).toBeUndefined()
  expect(lease.remainingMs()).toBeGreaterThan(0)
})
