import {
  type Algorithm,
  createRateLimiter,
  type Decision,
  type RateLimiter,
  type RateLimiterOptions,
  type Store,
} from '@sluice/core'
import { expect, onTestFinished } from 'vitest'

export interface StoreUnderTest {
  readonly name: string
  /** An empty store, which shares nothing with any other. */
  readonly makeStore: () => Store | Promise<Store>
  /** Resolves when the store's clock has gone on by `ms`, or a little more where it goes on by itself. */
  readonly advance: (ms: number) => void | Promise<void>
  /** What the store can count by; left out: all five. The fixed window, which keeps the others company, is needed. */
  readonly algorithms?: readonly Algorithm[]
  /** The store's clock in milliseconds; left out where it goes on by `advance` alone. */
  readonly now?: () => Promise<number>
}

/** A store of the test's own, and its clock. */
export class Rig {
  readonly #under: StoreUnderTest
  readonly store: Store
  #advancedMs = 0

  private constructor(under: StoreUnderTest, store: Store) {
    this.#under = under
    this.store = store
  }

  static async open(under: StoreUnderTest): Promise<Rig> {
    const store = await under.makeStore()
    onTestFinished(() => store.close())
    return new Rig(under, store)
  }

  /** Milliseconds by which a decision may differ from what the clock says around the call: the store's own rounding. */
  get slackMs(): number {
    return this.#under.now ? 1 : 0
  }

  /** A limiter whose every decision is the store's: no cache, no degradation. */
  limiter(
    policy: RateLimiterOptions['policy'],
    { name = 'contract' }: { readonly name?: string } = {},
  ): RateLimiter {
    const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
    return createRateLimiter({ name, policy, store: this.store, ...options })
  }

  now(): number | Promise<number> {
    return this.#under.now?.() ?? this.#advancedMs
  }

  async advance(ms: number): Promise<void> {
    if (ms <= 0) return
    await this.#under.advance(ms)
    this.#advancedMs += ms
  }

  /** A call, and the moments between which the store decided it. */
  async timed<T>(call: () => Promise<T>): Promise<Timed<T>> {
    const from = await this.now()
    const value = await call()
    return { value, from, until: await this.now() }
  }

  /**
   * Asks until `passes`, which must not be so before `ms` have gone by since `since`, and must be so from then on. As far
   * as the clock can tell: what was decided between two readings may lie on either side of the moment.
   */
  async becomesTrueAfter<T>(
    ms: number,
    since: Timed<unknown>,
    ask: () => Promise<T>,
    passes: (answer: T) => boolean,
  ): Promise<void> {
    const earliest = since.from + ms - this.slackMs
    const latest = since.until + ms + this.slackMs
    await this.advance(earliest - 1 - (await this.now()) - 2 * this.slackMs)
    for (;;) {
      const { value, from, until } = await this.timed(ask)
      const passed = passes(value)
      if (until < earliest) expect(passed, `${earliest - until} ms too early`).toBe(false)
      if (from >= latest) expect(passed, `${from - latest} ms late`).toBe(true)
      if (passed) return
      await this.advance(1)
    }
  }
}

export interface Timed<T> {
  readonly value: T
  readonly from: number
  readonly until: number
}

/** Spends so many units, one call each, all of which must pass. */
export async function spend(limiter: RateLimiter, key: string, units: number): Promise<void> {
  for (let unit = 0; unit < units; unit++) expect(await decide(limiter, key)).toBe(true)
}

/** How many of so many calls at once pass. */
export async function passing(limiter: RateLimiter, key: string, calls: number): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: calls }, () => limiter.consume(key)))
  for (const { source } of decisions) expect(source).toBe('store')
  return decisions.filter(({ allowed }) => allowed).length
}

/** Whether the store lets a call pass. */
export async function decide(limiter: RateLimiter, key: string, cost = 1): Promise<boolean> {
  const { allowed } = fromStore(await limiter.consume(key, { cost }))
  return allowed
}

/** What is left, by policy. */
export async function remaining(limiter: RateLimiter, key: string): Promise<readonly number[]> {
  const { policies } = fromStore(await limiter.peek(key))
  return policies.map((policy) => policy.remaining)
}

export function fromStore(decision: Decision): Decision {
  expect(decision.source).toBe('store')
  return decision
}
