import { ConfigurationError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { type Counter, countersOf, type FlexibleLimiter } from './flexible-counter.ts'
import { flexibleStore } from './flexible-store.ts'
import {
  createRateLimiter,
  limiterRules,
  type OnStoreFailure,
  type RateLimiter,
} from './limiter.ts'
import { type Policy, policyName } from './policy.ts'

/** Options of {@link fromFlexible}. */
export interface FlexibleOptions {
  /**
   * The limiter's name, and its policy's in decisions and response fields: 1 to 100 printable ASCII
   * characters. Default: limiter `'default'`, policy `'fixed-window'`.
   */
  readonly name?: string | undefined
  /** Deadline of a call in milliseconds: 1 to 60,000; default 500. */
  readonly timeoutMs?: number | undefined
  /** What happens while the limiter's store cannot be asked; default `'local'`. */
  readonly onStoreFailure?: OnStoreFailure | undefined
  /** Processes that share the quota, for `'local'`: 1 to 100,000; default 1. */
  readonly instances?: number | undefined
}

/**
 * Makes a {@link RateLimiter} of any rate-limiter-flexible limiter: its stores come along, as the engine of
 * `rateLimit({ limiter })` or as the target of `onStoreFailure`.
 *
 * What it counts stays that library's. A window begins with a key's first call; its limit and its length
 * are `points` and `duration`, read once (`duration: 0` never ends: then `windowMs`, and where something is
 * spent `resetMs` and the wait of a refusal, are Infinity). A refused call may be charged too; a block lasts
 * as long as the library says. Refusals are not remembered in the process; `inMemoryBlockOnConsumed` does
 * that. The decision's shape, response fields, deadlines and degradation are Sluice's: an error of the store is
 * never a refusal.
 *
 * A `RateLimiterUnion` gives one policy each, named by their `keyPrefix`; those that admit a call are charged
 * even if another refuses it. A `BurstyRateLimiter` reports its first limiter; a refund goes there too.
 * `execEvenly` is for the memory limiter only, and a `RateLimiterQueue` is no limiter.
 *
 * A key goes to the limiter as it is when it is at most 128 printable ASCII characters without spaces, else as
 * `sha256:` and the hash of its UTF-16 units, so that no key can make a store fail.
 *
 * @throws ConfigurationError (`configuration`) for another kind of limiter, or an option that is unknown or out of range.
 * @example
 * ```ts
 * import { fromFlexible } from '@sluice/core'
 * import { Pool } from 'pg'
 * import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible'
 *
 * const quota = { points: 100, duration: 60 }
 * const storeClient = new Pool({ connectionString: process.env['DATABASE_URL'] })
 * const limiter = fromFlexible(new RateLimiterPostgres({ ...quota, storeClient }), {
 *   name: 'search',
 *   onStoreFailure: fromFlexible(new RateLimiterMemory(quota)),
 * })
 * ```
 */
export function fromFlexible(limiter: FlexibleLimiter, options: FlexibleOptions = {}): RateLimiter {
  const { timeoutMs, onStoreFailure, instances } = limiterRules
  const rules = { name: policyName, timeoutMs, onStoreFailure, instances }
  const checked = checkOptions('fromFlexible', options, rules)
  const counters = countersOf(limiter)
  return createRateLimiter({
    ...checked,
    policy: counters.length === 1 ? counters.map(namedBy(checked)) : membersOf(limiter, counters),
    store: flexibleStore(counters),
    // How often a key is refused may decide how long the library blocks it, so it must be told.
    denyCacheMs: 0,
  })
}

function namedBy({ name = 'fixed-window' }: FlexibleOptions): (counter: Counter) => Policy {
  return (counter) => policyOf(counter, name)
}

/** The policies of a union. */
function membersOf(limiter: FlexibleLimiter, counters: readonly Counter[]): readonly Policy[] {
  const names = counters.map((counter) => counter.keyPrefix).filter(isPolicyName)
  if (new Set(names).size < counters.length)
    throw new ConfigurationError(
      'fromFlexible',
      'limiter',
      limiter,
      `a RateLimiterUnion whose limiters each have a \`keyPrefix\` of their own, ${policyName.expected}`,
    )
  return counters.map((counter, index) => policyOf(counter, names[index] ?? ''))
}

function isPolicyName(value: unknown): value is string {
  return policyName.accepts(value)
}

/** Made by hand, since that library knows larger limits than ours, and windows without end. */
function policyOf({ limit, windowMs }: Counter, name: string): Policy {
  const rate = Object.freeze({ amount: limit, periodMs: windowMs })
  return Object.freeze({ algorithm: 'fixed-window', name, limit, windowMs, rate })
}
