import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
  createRateLimiter,
  fixedWindow,
  type OnStoreFailure,
  type RateLimiterOptions,
  type Store,
  StoreUnavailableError,
  subscribe,
  tokenBucket,
} from '../../src/index.ts'

const policy = fixedWindow({ limit: 4, windowMs: 60_000 })

describe('a limiter whose store fails', () => {
  it("passes everything in mode 'open'", async () => {
    const limiter = failing('open')
    for (let call = 0; call < 9; call++)
      expect(await limiter.consume('a')).toMatchObject({
        allowed: true,
        remaining: 4,
        source: 'open',
      })
  })

  it("refuses everything in mode 'closed', and names a wait", async () => {
    const decision = await failing('closed').consume('a')
    expect(decision).toMatchObject({ allowed: false, remaining: 0, source: 'closed' })
    expect(decision.retryAfterMs).toBe(1000)
  })

  it("R32: decides by the same policies in the process in mode 'local', the default", async () => {
    for (const limiter of [failing('local'), failing()]) {
      for (const allowed of [true, true, true, true, false])
        expect(await limiter.consume('a')).toMatchObject({ allowed, limit: 4, source: 'local' })
      expect(await limiter.consume('b', { cost: 5 })).toMatchObject({ retryAfterMs: Infinity })
    }
  })

  it('R32: takes one of `instances` shares, rounded up', async () => {
    const limiter = failing('local', { instances: 3 })
    for (const allowed of [true, true, false])
      expect(await limiter.consume('a')).toMatchObject({ allowed, limit: 2, source: 'local' })
    const burst = tokenBucket({ capacity: 9, refill: 9, refillMs: 60_000 })
    const { policies } = await failing('local', { instances: 3, policy: burst }).consume('a')
    expect(policies[0]).toMatchObject({ limit: 3, windowMs: 60_000 })
  })

  it('R32: asks the limiter that it was given', async () => {
    const spare = createRateLimiter({
      policy: fixedWindow({ limit: 1, windowMs: 1000, name: 'spare' }),
    })
    const limiter = failing(spare)
    for (const allowed of [true, false])
      expect(await limiter.consume('a')).toMatchObject({
        allowed,
        policy: 'spare',
        source: 'local',
      })
  })

  it('R32: decides by itself when that limiter fails too', async () => {
    const spare = { ...failing('open'), name: 'spare', policies: [policy] }
    const limiter = failing({
      ...spare,
      consume: () => Promise.reject(new Error('down as well')),
      peek: () => Promise.reject(new Error('down as well')),
      refund: async () => {},
      reset: async () => {},
    })
    for (const allowed of [true, true, true, true, false])
      expect(await limiter.consume('a')).toMatchObject({ allowed, source: 'local' })
  })

  it('R31: rejects peek, refund and reset', async () => {
    const limiter = failing('open')
    const calls = [() => limiter.peek('a'), () => limiter.refund('a', 1), () => limiter.reset('a')]
    for (const call of calls) {
      await expect(call()).rejects.toThrow(StoreUnavailableError)
      await expect(call()).rejects.toMatchObject({
        code: 'store-unavailable',
        reason: 'failure',
        cause: expect.objectContaining({ message: 'down' }),
      })
    }
  })

  it('R31: takes what a store throws at once for a failure, as what it rejects with', async () => {
    const store = storeOf(() => {
      throw new Error('down')
    })
    const limiter = createRateLimiter({ name: 'a', policy, store })
    expect(await limiter.consume('a')).toMatchObject({ source: 'local' })
    await expect(limiter.reset('a')).rejects.toMatchObject({ reason: 'failure' })
  })

  it('says so in an event, with the cause', async () => {
    const events: unknown[] = []
    const stop = subscribe('sluice:store', (event) => void events.push(event))
    await failing('open').consume('a')
    stop()
    await failing('open').consume('a')
    expect(events).toEqual([
      {
        type: 'failure',
        operation: 'rate-limit.consume',
        error: expect.any(StoreUnavailableError),
      },
    ])
  })

  it('rejects with the reason of a caller who leaves, and decides nothing for it', async () => {
    const leaving = new AbortController()
    const store = storeOf(() => new Promise(() => {}))
    const limiter = createRateLimiter({ name: 'a', policy, store })
    const call = limiter.consume('a', { signal: leaving.signal })
    leaving.abort(new Error('left'))
    await expect(call).rejects.toThrow('left')
  })

  it('listens once to a signal that ends many calls, and not at all when they are over', async () => {
    const { signal } = new AbortController()
    const listeners = () => getEventListeners(signal, 'abort').length
    const limiter = failing('open')
    const calls = Array.from({ length: 20 }, () => limiter.consume('a', { signal }))
    expect(listeners()).toBe(1)
    await Promise.all(calls)
    expect(listeners()).toBe(0)
  })

  it('R31: decides within timeoutMs when the store does not answer', async () => {
    const store = storeOf(() => new Promise(() => {}))
    const limiter = createRateLimiter({
      name: 'a',
      policy,
      store,
      timeoutMs: 20,
      onStoreFailure: 'closed',
    })
    expect(await limiter.consume('a')).toMatchObject({ source: 'closed' })
    await expect(limiter.peek('a')).rejects.toMatchObject({ reason: 'deadline' })
  })
})

function failing(mode?: OnStoreFailure, options: Partial<RateLimiterOptions> = {}) {
  const store = storeOf(() => Promise.reject(new Error('down')))
  const onStoreFailure = mode === undefined ? {} : { onStoreFailure: mode }
  return createRateLimiter({ name: 'failing', policy, store, ...onStoreFailure, ...options })
}

/** A store elsewhere, of which every call ends in the same way. */
function storeOf(call: () => Promise<never>): Store {
  const rateLimit = { remote: true, consume: call, peek: call, refund: call, reset: call }
  return { rateLimit, close: async () => {} }
}
