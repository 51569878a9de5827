import { RateLimiterCompatibleAbstract, RateLimiterMemory } from 'rate-limiter-flexible'
import { describe, expect, it } from 'vitest'
import {
  createRateLimiter,
  fixedWindow,
  fromFlexible,
  type Store,
  StoreUnavailableError,
  subscribe,
} from '../../src/index.ts'

/** A limiter as an application may write one for that library, on a store that is not well. */
class Ailing extends RateLimiterCompatibleAbstract {
  readonly points = 4
  readonly duration = 60
  calls = 0
  answer: () => Promise<never>

  constructor(answer: () => Promise<never>) {
    super()
    this.answer = answer
  }

  override consume = () => this.#ask()
  override get = () => this.#ask()
  override reward = () => this.#ask()
  override penalty = () => this.#ask()
  override delete = () => this.#ask()

  #ask() {
    this.calls++
    return this.answer()
  }
}

const gone = () => Promise.reject(new Error('connection lost'))
const misleading = () =>
  Promise.reject(Object.assign(new Error('gone'), { msBeforeNext: 1, remainingPoints: 0 }))
const late = () => new Promise<never>(() => {})

describe.each([
  ['fails', gone],
  ['does not answer', late],
  ['gives no numbers', async () => ({ remainingPoints: Number.NaN }) as never],
  ['refuses without numbers', () => Promise.reject({ msBeforeNext: Number.NaN })],
  ['fails with what looks like a refusal', misleading],
  ['throws at once', throwing],
])('a limiter of the library whose store %s', (_how, answer) => {
  const options = { timeoutMs: 20 }

  it('R32, R34: is replaced by the same limit in this process, divided by its instances', async () => {
    const limiter = fromFlexible(new Ailing(answer), { ...options, instances: 2 })
    const decisions = []
    for (let call = 0; call < 3; call++) decisions.push(await limiter.consume('ann'))
    expect(decisions).toMatchObject([
      { allowed: true, limit: 2, source: 'local' },
      { allowed: true, limit: 2, source: 'local' },
      { allowed: false, limit: 2, source: 'local' },
    ])
  })

  it('R34: opens or closes, as configured', async () => {
    const open = fromFlexible(new Ailing(answer), { ...options, onStoreFailure: 'open' })
    expect(await open.consume('ann')).toMatchObject({ allowed: true, source: 'open' })
    const closed = fromFlexible(new Ailing(answer), { ...options, onStoreFailure: 'closed' })
    expect(await closed.consume('ann')).toMatchObject({ allowed: false, source: 'closed' })
  })

  it('R31, R34: is said by peek and refund', async () => {
    const limiter = fromFlexible(new Ailing(answer), options)
    const answers = [limiter.peek('ann'), limiter.refund('ann', 1)]
    for (const promise of answers) await expect(promise).rejects.toThrow(StoreUnavailableError)
  })
})

it.each([gone, late, throwing])(
  'R31, R34: a reset that the store of the library does not take is said',
  async (answer) => {
    const limiter = fromFlexible(new Ailing(answer), { timeoutMs: 20 })
    await expect(limiter.reset('ann')).rejects.toThrow(StoreUnavailableError)
  },
)

it('R32, R34: a quota that never comes back does not come back in this process either', async () => {
  const limiter = fromFlexible(Object.assign(new Ailing(gone), { points: 1, duration: 0 }))
  const never = Number.POSITIVE_INFINITY
  expect(await limiter.consume('ann')).toMatchObject({
    allowed: true,
    source: 'local',
    resetMs: never,
  })
  expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: never })
  expect((await limiter.consume('bob')).allowed).toBe(true)
})

describe('the circuit of a limiter that fromFlexible() made', () => {
  it('R34: opens after failures in a row, and closes when the store takes writes again', async () => {
    const store = new Ailing(gone)
    const limiter = fromFlexible(store)
    const closed = new Promise<void>((resolve) => {
      const stop = subscribe('sluice:store', (event) => {
        if (event.type !== 'circuit-closed') return
        stop()
        resolve()
      })
    })
    for (let call = 0; call < 5; call++) await limiter.consume('ann')
    const asked = store.calls
    await limiter.consume('ann')
    expect(store.calls).toBe(asked)
    const memory = new RateLimiterMemory({ points: 4, duration: 60 })
    Object.assign(store, {
      consume: (key: string, points: number) => memory.consume(key, points),
      penalty: (key: string, points: number) => memory.penalty(key, points),
      delete: (key: string) => memory.delete(key),
    })
    await closed
    expect(memory.dump().storage).toEqual([])
    expect(await limiter.consume('ann')).toMatchObject({ remaining: 3, source: 'store' })
  })
})

describe('a limiter that fromFlexible() made, as the target of degradation', () => {
  it('R32, R34: decides with its own limit while the store cannot', async () => {
    const limiter = createRateLimiter({
      policy: fixedWindow({ name: 'hourly', limit: 100, windowMs: 3_600_000 }),
      store: ailingStore(),
      onStoreFailure: fromFlexible(new RateLimiterMemory({ points: 1, duration: 60 }), {
        name: 'meanwhile',
      }),
    })
    const state = { policy: 'meanwhile', limit: 1, remaining: 0, source: 'local' }
    expect(await limiter.consume('ann')).toMatchObject({ ...state, allowed: true })
    expect(await limiter.consume('ann')).toMatchObject({ ...state, allowed: false })
    expect((await limiter.consume('bob')).allowed).toBe(true)
  })

  it('R32, R34: gives way to the next when its own store fails too', async () => {
    const last = fromFlexible(new RateLimiterMemory({ points: 1, duration: 60 }))
    const limiter = createRateLimiter({
      policy: fixedWindow({ limit: 100, windowMs: 3_600_000 }),
      store: ailingStore(),
      onStoreFailure: fromFlexible(new Ailing(gone), { onStoreFailure: last }),
    })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 1 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, limit: 1 })
  })
})

function throwing(): Promise<never> {
  throw new Error('not ready')
}

function ailingStore(): Store {
  const rateLimit = { remote: true, consume: gone, peek: gone, refund: gone, reset: gone }
  return { rateLimit, close: async () => {} }
}
