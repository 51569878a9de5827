import { checkOptions, duration, integer, MAX_AMOUNT, type Rule, required } from '../options.ts'
import { bucketHints, windowHints } from './foreign-names.ts'

/** The five ways to count. */
export type Algorithm =
  | 'fixed-window'
  | 'sliding-window'
  | 'sliding-log'
  | 'token-bucket'
  | 'leaky-bucket'

/**
 * One quota policy: how much, how fast, counted how. Made by {@link fixedWindow}, {@link slidingWindow},
 * {@link slidingLog}, {@link tokenBucket} or {@link leakyBucket}; immutable.
 */
export interface Policy {
  readonly algorithm: Algorithm
  /** Unique within a limiter; printable ASCII, since response fields carry it. Default: the algorithm's name. */
  readonly name: string
  /** The limit of a window, or the capacity of a bucket; 0 refuses everything. */
  readonly limit: number
  /** The window, or the time an empty bucket takes to fill (a full one to drain), in milliseconds, rounded up. */
  readonly windowMs: number
  /** Buckets: `amount` comes back (or drains) every `periodMs`, continuously and in lowest terms. Windows: `limit` every `windowMs`. */
  readonly rate: { readonly amount: number; readonly periodMs: number }
}

/** Options of the three window policies. */
export interface WindowOptions {
  /** Units admitted in a window: an integer from 0 to 1,000,000,000 (sliding log: 100,000). */
  readonly limit: number
  /** The window in milliseconds: an integer from 1 to ten years. */
  readonly windowMs: number
  /** See {@link Policy.name}. */
  readonly name?: string | undefined
}

/** Options of {@link tokenBucket}. */
export interface TokenBucketOptions {
  /** The largest burst: an integer from 0 to 1,000,000,000. */
  readonly capacity: number
  /** Tokens that come back every `refillMs`, continuously: an integer from 1 to 1,000,000,000. */
  readonly refill: number
  /** In milliseconds: an integer from 1 to ten years. */
  readonly refillMs: number
  /** See {@link Policy.name}. */
  readonly name?: string | undefined
}

/** Options of {@link leakyBucket}. */
export interface LeakyBucketOptions {
  /** Calls that may wait in line: an integer from 0 to 1,000,000,000. */
  readonly capacity: number
  /** Calls that leave the bucket every `drainMs`: an integer from 1 to 1,000,000,000. */
  readonly drain: number
  /** In milliseconds: an integer from 1 to ten years. */
  readonly drainMs: number
  /** See {@link Policy.name}. */
  readonly name?: string | undefined
}

/**
 * Counts in windows that start at the first request of a subject. Cheapest; up to twice the limit can
 * pass around the boundary of two windows.
 *
 * @throws ConfigurationError (`configuration`) for an option that is missing, unknown or out of range.
 * @example
 * ```ts
 * import { fixedWindow } from '@sluice/core'
 * const daily = fixedWindow({ name: 'daily', limit: 10_000, windowMs: 86_400_000 })
 * ```
 */
export function fixedWindow(options: WindowOptions): Policy {
  return windowPolicy('fixed-window', 'fixedWindow', options, MAX_AMOUNT)
}

/**
 * Weighs the previous window's count by how much of it the sliding window still covers. O(1); never admits more
 * than its estimate allows, which is exact for even traffic and can be off by nearly a limit for bursts
 * (see {@link slidingLog}). What was spent counts until the second window's end at the latest.
 *
 * @throws ConfigurationError (`configuration`) for an option that is missing, unknown or out of range.
 * @example
 * ```ts
 * import { slidingWindow } from '@sluice/core'
 * const perMinute = slidingWindow({ limit: 100, windowMs: 60_000 })
 * ```
 */
export function slidingWindow(options: WindowOptions): Policy {
  return windowPolicy('sliding-window', 'slidingWindow', options, MAX_AMOUNT)
}

/**
 * Remembers every admitted request of the window: exact at every position of it, for 8 bytes a request.
 *
 * @throws ConfigurationError (`configuration`) for an option that is missing, unknown or out of range (`limit` at most 100,000).
 * @example
 * ```ts
 * import { slidingLog } from '@sluice/core'
 * const logins = slidingLog({ name: 'logins', limit: 5, windowMs: 15 * 60_000 })
 * ```
 */
export function slidingLog(options: WindowOptions): Policy {
  return windowPolicy('sliding-log', 'slidingLog', options, MAX_LOG_LIMIT)
}

/**
 * A bucket of `capacity` tokens that refills continuously: bursts up to the capacity, the refill rate on average.
 *
 * @throws ConfigurationError (`configuration`) for an option that is missing, unknown or out of range.
 * @example
 * ```ts
 * import { tokenBucket } from '@sluice/core'
 * const burst = tokenBucket({ name: 'burst', capacity: 20, refill: 5, refillMs: 1000 })
 * ```
 */
export function tokenBucket(options: TokenBucketOptions): Policy {
  const rules = {
    capacity: required(amount(0)),
    refill: required(amount(1)),
    refillMs: required(duration(1)),
    name: policyName,
  }
  const checked = checkOptions('tokenBucket', options, rules, bucketHints('refillMs'))
  return bucketPolicy('token-bucket', checked, checked.refill, checked.refillMs)
}

/**
 * A line that drains steadily: each call is told how long to wait for its turn. From idle one call passes
 * at once, `capacity` calls wait in line, the next is refused.
 *
 * @throws ConfigurationError (`configuration`) for an option that is missing, unknown or out of range.
 * @example
 * ```ts
 * import { leakyBucket } from '@sluice/core'
 * const smooth = leakyBucket({ capacity: 10, drain: 5, drainMs: 1000 })
 * ```
 */
export function leakyBucket(options: LeakyBucketOptions): Policy {
  const rules = {
    capacity: required(amount(0)),
    drain: required(amount(1)),
    drainMs: required(duration(1)),
    name: policyName,
  }
  const checked = checkOptions('leakyBucket', options, rules, bucketHints('drainMs'))
  return bucketPolicy('leaky-bucket', checked, checked.drain, checked.drainMs)
}

/** A sliding log keeps one entry a request, so its limit is bounded more tightly. */
const MAX_LOG_LIMIT = 100_000

/** A name that a structured-field String can carry (RFC 9651, section 3.3.3). */
export const policyName: Rule = {
  expected: 'a string of 1 to 100 printable ASCII characters',
  accepts: (value) => typeof value === 'string' && /^[\x20-\x7e]{1,100}$/.test(value),
}

/** One of `instances` equal parts of a policy: the limit, and a bucket's rate, divided and the limit rounded up. */
export function share(policy: Policy, instances: number): Policy {
  const limit = Math.ceil(policy.limit / instances)
  const { algorithm, name, windowMs, rate } = policy
  if (algorithm === 'token-bucket' || algorithm === 'leaky-bucket')
    return bucketPolicy(
      algorithm,
      { capacity: limit, name },
      rate.amount,
      rate.periodMs * instances,
    )
  return freeze({ algorithm, name, limit, windowMs, rate: { amount: limit, periodMs: windowMs } })
}

function amount(min: number): Rule {
  return integer(min, MAX_AMOUNT)
}

function windowPolicy(
  algorithm: Algorithm,
  owner: string,
  options: WindowOptions,
  max: number,
): Policy {
  const rules = {
    limit: required(integer(0, max)),
    windowMs: required(duration(1)),
    name: policyName,
  }
  const checked = checkOptions(owner, options, rules, windowHints)
  const { limit, windowMs, name = algorithm } = checked
  return freeze({ algorithm, name, limit, windowMs, rate: { amount: limit, periodMs: windowMs } })
}

function bucketPolicy(
  algorithm: Algorithm,
  options: { readonly capacity: number; readonly name?: string | undefined },
  rateAmount: number,
  ratePeriodMs: number,
): Policy {
  const divisor = greatestCommonDivisor(rateAmount, ratePeriodMs)
  const rate = { amount: rateAmount / divisor, periodMs: ratePeriodMs / divisor }
  const windowMs = Math.max(1, Math.ceil((options.capacity * rate.periodMs) / rate.amount))
  return freeze({
    algorithm,
    name: options.name ?? algorithm,
    limit: options.capacity,
    windowMs,
    rate,
  })
}

function freeze(policy: Policy): Policy {
  Object.freeze(policy.rate)
  return Object.freeze(policy)
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
