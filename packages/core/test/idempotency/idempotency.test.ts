import {
  type Begun,
  ConfigurationError,
  createIdempotency,
  type Execution,
  type IdempotencyOptions,
  type IdempotencyRequest,
  memoryStore,
  type Store,
} from '@sluice/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const request = { key: 'k', fingerprint: 'x' }
const response = { status: 200, headers: [], body: 'done' }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function started(begun: Begun): Execution {
  if (begun.state !== 'started') throw new Error(begun.state)
  return begun.execution
}

describe('a key outside HTTP', () => {
  test('I1: runs once, and its response is replayed', async () => {
    const idempotency = createIdempotency({ store: memoryStore() })
    const execution = started(await idempotency.begin(request))
    expect(execution).toMatchObject({ attempt: 1, fence: expect.any(Number) })
    expect(execution.signal.aborted).toBe(false)
    expect(await execution.complete(response)).toBe('settled')
    expect(await idempotency.begin(request)).toEqual({ state: 'replay', response })
  })

  test('I2, I4: is compared with its fingerprint and its caller', async () => {
    const idempotency = createIdempotency({ store: memoryStore() })
    await idempotency.begin({ ...request, caller: 'alice' })
    const ask = async (changes: Partial<IdempotencyRequest>) =>
      (await idempotency.begin({ ...request, caller: 'alice', ...changes })).state
    expect(await ask({})).toBe('in-progress')
    expect(await ask({ fingerprint: 'y' })).toBe('mismatch')
    expect(await ask({ fingerprint: new TextEncoder().encode('x') })).toBe('in-progress')
    expect(await ask({ caller: 'mallory' })).toBe('stranger')
    expect((await idempotency.begin(request)).state).toBe('stranger')
    expect(await ask({ scope: 'other' })).toBe('started')
  })

  test('I15: is asked for again after as long as it has been running, from a second on, within its lease', async () => {
    const idempotency = createIdempotency({ store: memoryStore(), maxRunMs: 3_600_000 })
    const execution = started(await idempotency.begin(request))
    const waits: number[] = []
    for (const ms of [0, 100, 1900, 6000, 42_500]) {
      await vi.advanceTimersByTimeAsync(ms)
      const begun = await idempotency.begin(request)
      waits.push(begun.state === 'in-progress' ? begun.retryAfterMs : Number.NaN)
    }
    expect(waits).toEqual([1000, 1000, 2000, 8000, 29_500])
    await execution.complete(response)
  })

  test('two that are given no store share one', async () => {
    const key = `shared ${Math.random()}`
    await started(await createIdempotency().begin({ ...request, key })).complete(response)
    expect(await createIdempotency().begin({ ...request, key })).toMatchObject({ state: 'replay' })
  })

  test('a wrong option, request or response is an error that says so, and claims nothing', async () => {
    const wrongOptions: unknown[] = [
      { leaseMs: 99 },
      { leaseMs: 1.5 },
      { maxRunMs: '1' },
      { resultTtlMs: 0 },
      { onUnknown: 'run' },
      { timeoutMs: 0 },
      { store: {} },
      { ttl: 1 },
    ]
    for (const options of wrongOptions)
      expect(() => createIdempotency(options as IdempotencyOptions)).toThrow(ConfigurationError)
    const idempotency = createIdempotency({ store: memoryStore() })
    const wrongRequests: unknown[] = [
      { key: '' },
      { key: 5 },
      { scope: 1 },
      { fingerprint: undefined },
      { caller: 1 },
      { waitMs: -1 },
      { waitMs: Number.NaN },
      { scpoe: 'ann' },
    ]
    for (const wrong of wrongRequests)
      await expect(
        idempotency.begin({ ...request, ...(wrong as IdempotencyRequest) }),
      ).rejects.toThrow(ConfigurationError)
    await expect(idempotency.inspect('')).rejects.toThrow(ConfigurationError)
    const execution = started(await idempotency.begin(request))
    const wrongResponses: unknown[] = [
      { status: 99 },
      { headers: [['a']] },
      { headers: [['a', 1]] },
      { body: {} },
    ]
    for (const wrong of wrongResponses)
      await expect(
        execution.complete({ ...response, ...(wrong as typeof response) }),
      ).rejects.toThrow(ConfigurationError)
    expect(await idempotency.inspect('k')).toMatchObject({ state: 'claimed' })
    expect(await execution.complete(response)).toBe('settled')
  })
})

describe('those who wait for a key', () => {
  /** A store that counts how often it is asked. */
  function counting(): Store & { claims: number } {
    const store = memoryStore()
    const { idempotency } = store
    if (!idempotency) throw new Error('no records')
    const counted = {
      ...store,
      claims: 0,
      idempotency: Object.create(idempotency, {
        claim: {
          value: (...args: Parameters<typeof idempotency.claim>) => {
            counted.claims++
            return idempotency.claim(...args)
          },
        },
      }),
    }
    for (const method of ['renew', 'settle', 'read', 'watch'] as const)
      counted.idempotency[method] = (...args: never[]) =>
        Reflect.apply(idempotency[method], idempotency, args)
    return counted
  }

  test('I15: get the response as soon as it is there', async () => {
    const idempotency = createIdempotency({ store: memoryStore() })
    const execution = started(await idempotency.begin(request))
    const waiting = Promise.all(
      Array.from({ length: 20 }, () => idempotency.begin({ ...request, waitMs: 10_000 })),
    )
    await vi.advanceTimersByTimeAsync(2500)
    await execution.complete(response)
    for (const begun of await waiting) expect(begun).toEqual({ state: 'replay', response })
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1) // the store's sweep
  })

  test('I15: claim the key one after the other when it is released', async () => {
    const store = counting()
    const idempotency = createIdempotency({ store })
    let execution = started(await idempotency.begin(request))
    const claimed: Execution[] = []
    const waiting = Array.from({ length: 5 }, async () => {
      const begun = await idempotency.begin({ ...request, waitMs: 60_000 })
      claimed.push(started(begun))
    })
    await vi.advanceTimersByTimeAsync(100)
    for (let count = 1; count <= 5; count++) {
      const before = store.claims
      await execution.release()
      await vi.advanceTimersByTimeAsync(0)
      expect(claimed).toHaveLength(count)
      expect(store.claims).toBe(before + 1)
      execution = claimed[count - 1] as Execution
    }
    await Promise.all(waiting)
    await execution.complete(response)
  })

  test('I15: ask the store once a second at most, and wait no longer than they said', async () => {
    const store = counting()
    const idempotency = createIdempotency({ store })
    const execution = started(await idempotency.begin(request))
    const begun = idempotency.begin({ ...request, waitMs: 5500 })
    const seconds: number[] = []
    for (let second = 0; second < 5; second++) {
      const before = store.claims
      await vi.advanceTimersByTimeAsync(1000)
      seconds.push(store.claims - before)
    }
    // The first asks twice: before it listens and as soon as it does.
    expect(seconds.slice(1)).toEqual([1, 1, 1, 1])
    let settled = false
    void begun.then(() => {
      settled = true
    })
    await vi.advanceTimersByTimeAsync(499)
    expect(settled).toBe(false)
    await vi.advanceTimersByTimeAsync(2)
    expect(await begun).toMatchObject({ state: 'in-progress' })
    expect(store.claims).toBe(8)
    await execution.complete(response)
  })

  test('I15: may be called off, and then claim nothing', async () => {
    const idempotency = createIdempotency({ store: memoryStore() })
    const execution = started(await idempotency.begin(request))
    const controller = new AbortController()
    const begun = idempotency.begin({ ...request, waitMs: 60_000, signal: controller.signal })
    const rejected = expect(begun).rejects.toThrow('called off')
    await vi.advanceTimersByTimeAsync(1500)
    controller.abort(new Error('called off'))
    await rejected
    await execution.release()
    await vi.advanceTimersByTimeAsync(1500)
    expect(await idempotency.inspect('k')).toBeUndefined()
    await expect(
      idempotency.begin({ ...request, signal: AbortSignal.abort(new Error('before')) }),
    ).rejects.toThrow('before')
    expect(await idempotency.inspect('k')).toBeUndefined()
  })

  test('I11: learn that the owner fell silent, or run again themselves', async () => {
    const store = memoryStore()
    const options = { store, leaseMs: 10_000, maxRunMs: 100 }
    const holding = createIdempotency(options)
    const rerunning = createIdempotency({ ...options, onUnknown: 'rerun' })
    started(await holding.begin(request))
    const held = holding.begin({ ...request, waitMs: 60_000 })
    await vi.advanceTimersByTimeAsync(11_000)
    expect(await held).toMatchObject({ state: 'unknown' })
    const again = await rerunning.begin({ ...request, waitMs: 60_000 })
    expect(started(again).attempt).toBe(2)
  })
})
