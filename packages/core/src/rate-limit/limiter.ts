import {
  checkOptions,
  either,
  integer,
  oneOf,
  type Rule,
  required,
  withDefaults,
} from '../options.ts'
import type { Store } from '../store.ts'
import type { Decision } from './decision.ts'
import { policyHints } from './foreign-names.ts'
import type { MemoryRateLimitStore } from './memory-store.ts'
import type { Policy } from './policy.ts'
import { checkPolicies } from './policy-set.ts'
import { StoreLimiter } from './store-limiter.ts'
import { warnOfSharedDefault } from './unnamed.ts'

/** What happens while the store cannot be asked; a limiter given here decides instead of it. */
export type OnStoreFailure = 'open' | 'closed' | 'local' | RateLimiter

/** Options of {@link RateLimiter.consume}. */
export interface ConsumeOptions {
  /** An integer of at least 1; default 1. */
  readonly cost?: number | undefined
  /** Ends the wait with its reason; the call may have happened. */
  readonly signal?: AbortSignal | undefined
}

/** Decides who may pass. Made by {@link createRateLimiter} or {@link fromFlexible}. */
export interface RateLimiter {
  /** The quota's name. */
  readonly name: string
  /** The policies, in the order in which decisions list them. */
  readonly policies: readonly Policy[]
  /**
   * Spends `cost` (an integer ≥ 1; default 1) of the key's quota, or refuses and spends nothing.
   * A store failure is decided by `onStoreFailure`; it never rejects for one.
   *
   * @throws ConfigurationError (`configuration`) for a key that is not a non-empty string, or a wrong cost.
   */
  consume(key: string, options?: ConsumeOptions): Promise<Decision>
  /**
   * Says what `consume` would decide, and changes nothing; `remaining` is what is left now.
   *
   * @throws ConfigurationError (`configuration`), StoreUnavailableError (`store-unavailable`)
   */
  peek(key: string, options?: { readonly cost?: number | undefined }): Promise<Decision>
  /**
   * Gives back up to `cost` of what the key has spent; never more, and nothing to a window that is over.
   *
   * @throws ConfigurationError (`configuration`), StoreUnavailableError (`store-unavailable`)
   */
  refund(key: string, cost: number): Promise<void>
  /**
   * Forgets what the key has spent.
   *
   * @throws ConfigurationError (`configuration`), StoreUnavailableError (`store-unavailable`)
   */
  reset(key: string): Promise<void>
}

/** Options of {@link createRateLimiter}. */
export interface RateLimiterOptions {
  /** The quota's name; limiters of one name on one store share it. Default `'default'`. */
  readonly name?: string | undefined
  /** One policy, or several that are decided in one step. */
  readonly policy: Policy | readonly Policy[]
  /** Default: a {@link memoryStore} of its own. */
  readonly store?: Store | undefined
  /** Deadline of a store call in milliseconds: 1 to 60,000; default 500. */
  readonly timeoutMs?: number | undefined
  /** How long a refusal of a remote store is remembered in the process at most: 0 (off) to 60,000 ms; default 1000. */
  readonly denyCacheMs?: number | undefined
  /** Default `'local'`. */
  readonly onStoreFailure?: OnStoreFailure | undefined
  /** Processes that share the quota, for `'local'`: 1 to 100,000; default 1. */
  readonly instances?: number | undefined
}

/**
 * A rate limiter for any use: message consumers, jobs, sockets. In HTTP, `rateLimit()` makes one for you.
 *
 * @throws ConfigurationError (`configuration`) for an option that is missing, unknown or out of range.
 * @example
 * ```ts
 * import { createRateLimiter, tokenBucket } from '@sluice/core'
 *
 * const limiter = createRateLimiter({
 *   name: 'mail',
 *   policy: tokenBucket({ capacity: 20, refill: 5, refillMs: 1000 }),
 * })
 * const decision = await limiter.consume('user:42')
 * if (!decision.allowed) console.log(`again in ${decision.retryAfterMs} ms`)
 * ```
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const checked = checkOptions('createRateLimiter', options, rateLimiterRules, policyHints)
  const policies = checkPolicies('createRateLimiter', checked.policy)
  warnOfSharedDefault(checked)
  return limiterOf(policies, checked)
}

/** A limiter of options that were checked already; see {@link StoreLimiter} for `local`. */
export function limiterOf(
  policies: readonly Policy[],
  options: Omit<RateLimiterOptions, 'policy'>,
  local?: MemoryRateLimitStore,
): RateLimiter {
  return new StoreLimiter(policies, withDefaults(options, defaults), local)
}

/** The rules of the options that `rateLimit()` has in common with {@link createRateLimiter}. */
export const limiterRules: Readonly<Record<LimiterOption, Rule>> = {
  name: {
    expected: 'a string of 1 to 200 characters',
    accepts: (value) => typeof value === 'string' && value.length > 0 && value.length <= 200,
  },
  store: {
    expected: 'a store, as made by memoryStore() or redisStore()',
    accepts: (value) => typeof value === 'object' && value !== null && 'rateLimit' in value,
  },
  timeoutMs: integer(1, 60_000, ' milliseconds'),
  denyCacheMs: integer(0, 60_000, ' milliseconds'),
  onStoreFailure: either(oneOf('open', 'closed', 'local'), {
    expected: 'a RateLimiter',
    accepts: isLimiter,
  }),
  instances: integer(1, 100_000),
}

type LimiterOption = Exclude<keyof RateLimiterOptions, 'policy'>

/** Whether a value can serve as a {@link RateLimiter}. */
export function isLimiter(value: unknown): value is RateLimiter {
  return (
    typeof value === 'object' &&
    value !== null &&
    Array.isArray(Reflect.get(value, 'policies')) &&
    ['consume', 'peek', 'refund', 'reset'].every(
      (method) => typeof Reflect.get(value, method) === 'function',
    )
  )
}

const rateLimiterRules = {
  ...limiterRules,
  policy: required({ expected: 'one or more policies', accepts: (value) => value !== null }),
}

/** The options of a limiter over their defaults. */
export type ResolvedLimiterOptions = Omit<RateLimiterOptions, 'policy'> & typeof defaults

const defaults = {
  name: 'default',
  timeoutMs: 500,
  denyCacheMs: 1000,
  onStoreFailure: 'local' as OnStoreFailure,
  instances: 1,
}
