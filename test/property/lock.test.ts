import type { AcquireReply, LockStore } from '@sluice/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { memoryLocks } from '../contract/lock-store.ts'
import { ioredisPlace } from '../contract/redis-places.ts'
import { LEASE_MS, LockModel } from './lock-model.ts'

/** One thing that happens. Who crashes does nothing any more. */
type Step =
  | { readonly do: 'claim'; readonly waiter: number | undefined; readonly returns: boolean }
  | { readonly do: 'resend' | 'release' | 'extend'; readonly owner: number }
  | {
      readonly do: 'pass'
      readonly owner: number
      readonly waiter: number
      readonly returns: boolean
      readonly keepsTurn: boolean
    }
  | { readonly do: 'leave'; readonly waiter: number }
  | { readonly do: 'wait'; readonly ms: number }

/** Recent owners are of more interest than those long gone. */
const owner = fc.integer({ min: 0, max: 2 })
const waiter = fc.integer({ min: 0, max: 3 })
const returns = fc.boolean()

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), waiter, returns }) },
  fc.record({
    do: fc.constant('claim' as const),
    waiter: fc.constant(undefined),
    returns: fc.constant(false),
  }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), owner }) },
  fc.record({ do: fc.constantFrom('resend' as const, 'extend' as const), owner }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      owner,
      waiter,
      returns,
      keepsTurn: fc.boolean(),
    }),
  },
  fc.record({ do: fc.constant('leave' as const), waiter }),
  // Past a turn; past the death of who waits; past a lease.
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(800, 800, 12_000, 39_000),
    }),
  },
)

const places = [
  { name: 'memory', open: memoryLocks, runs: 3000 },
  {
    name: 'Redis',
    open: async () => {
      const place = await ioredisPlace(inject('redisPort'))
      return { ...place, store: place.store.lock as LockStore }
    },
    runs: 200,
  },
]

describe.each(places)('a lock in $name, whatever happens to it', ({ open, runs }) => {
  let place: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    place = await open()
  })
  afterAll(() => place[Symbol.asyncDispose]())

  test('L1, L2, L4, L6, L7, L18: answers as a small model does, and its fences rise', async () => {
    let keys = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const life = new Life(place.store, (ms) => place.advance(ms), `key ${++keys}`)
        try {
          for (const one of steps) await life.take(one)
        } catch (error) {
          fc.pre(!life.wasSlow)
          throw error
        }
      }),
      { numRuns: runs },
    )
  })
})

/** One lock, in the store and in the model. */
class Life {
  readonly #store: LockStore
  readonly #advance: (ms: number) => Promise<void>
  readonly #key: string
  readonly #model = new LockModel()
  readonly #since = new Map<number, { readonly store: number; readonly model: number }>()
  #owners = 0
  #fence = 0
  readonly #startedAt = performance.now()

  constructor(store: LockStore, advance: (ms: number) => Promise<void>, key: string) {
    this.#store = store
    this.#advance = advance
    this.#key = key
  }

  /** So slow that the server's own time may have ended a turn; that of the model stood still. */
  get wasSlow(): boolean {
    return performance.now() - this.#startedAt > 250
  }

  async take(step: Step): Promise<void> {
    await this.#do(step)
    const holder = await this.#store.inspect(this.#key)
    expect(holder !== undefined).toBe(this.#model.holder !== undefined)
    if (holder) expect(holder).toMatchObject({ fence: this.#fence, waiters: this.#model.waiters })
  }

  async #do(step: Step): Promise<void> {
    if (step.do === 'claim') await this.#claim(++this.#owners, step.waiter, step.returns)
    if (step.do === 'resend') await this.#resend(this.#owners - step.owner)
    if (step.do === 'release') await this.#release(this.#owners - step.owner)
    if (step.do === 'extend') await this.#extend(this.#owners - step.owner)
    if (step.do === 'pass') await this.#pass(step)
    if (step.do === 'leave') await this.#leave(step.waiter)
    if (step.do === 'wait') {
      await this.#advance(step.ms)
      this.#model.advance(step.ms)
    }
  }

  async #claim(token: number, waiter: number | undefined, returns: boolean): Promise<void> {
    const since = returns && waiter !== undefined ? this.#since.get(waiter) : undefined
    const place = waiter === undefined ? undefined : { waiter: `w${waiter}`, since: since?.store }
    const reply = await this.#store.acquire([this.#key], claimOf(token), place)
    this.#compare(reply, this.#model.claim(token, waiter, since?.model), waiter)
  }

  /** The grant's reply was lost, and the client sends the claim again while it still holds. */
  async #resend(token: number): Promise<void> {
    if (this.#model.holder?.token !== token) return
    this.#model.claim(token)
    const reply = await this.#store.acquire([this.#key], claimOf(token))
    expect(reply).toEqual({ state: 'granted', fence: this.#fence })
  }

  async #release(token: number): Promise<void> {
    const released = await this.#store.release([this.#key], claimOf(token))
    expect(released).toBe(this.#model.release(token))
  }

  async #extend(token: number): Promise<void> {
    const grant = { ...claimOf(token), fence: this.#fence }
    const extended = await this.#store.extend([this.#key], grant, LEASE_MS)
    expect(extended).toBe(this.#model.extend(token))
  }

  async #pass({ owner, waiter, returns, keepsTurn }: Step & { do: 'pass' }): Promise<void> {
    const from = this.#owners - owner
    const next = ++this.#owners
    const since = returns ? this.#since.get(waiter) : undefined
    const place = { waiter: `w${waiter}`, since: since?.store }
    const held = this.#model.holder?.token === from
    const grant = { ...claimOf(from), fence: this.#fence }
    const reply = await this.#store.pass(this.#key, grant, claimOf(next), place, keepsTurn)
    expect(reply.released).toBe(held)
    this.#compare(reply.next, this.#model.pass(from, next, waiter, since?.model, keepsTurn), waiter)
  }

  async #leave(waiter: number): Promise<void> {
    this.#model.leave(waiter)
    await this.#store.leave(this.#key, `w${waiter}`)
  }

  #compare(reply: AcquireReply, said: true | number | undefined, waiter: number | undefined): void {
    expect(reply.state).toBe(said === true ? 'granted' : 'held')
    if (reply.state === 'granted') {
      expect(reply.fence).toBeGreaterThan(this.#fence)
      this.#fence = reply.fence
    } else if (waiter !== undefined) {
      expect(reply.since).toBeGreaterThan(0)
      this.#since.set(waiter, { store: reply.since as number, model: said as number })
    } else expect(reply.since).toBeUndefined()
  }
}

function claimOf(token: number) {
  return { token: `owner-${token}`.padEnd(22, '-'), leaseMs: LEASE_MS, metadata: '' }
}
