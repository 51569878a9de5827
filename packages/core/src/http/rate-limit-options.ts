import { ConfigurationError } from '../errors.ts'
import {
  boolean,
  callback,
  checkOptions,
  either,
  integer,
  MAX_AMOUNT,
  type Rule,
} from '../options.ts'
import type { Decision } from '../rate-limit/decision.ts'
import { middlewareHints } from '../rate-limit/foreign-names.ts'
import {
  isLimiter,
  limiterRules,
  type OnStoreFailure,
  type RateLimiter,
} from '../rate-limit/limiter.ts'
import { type Policy, policyName, slidingWindow } from '../rate-limit/policy.ts'
import { checkPolicies } from '../rate-limit/policy-set.ts'
import type { Store } from '../store.ts'
import { fieldWriters, type HeaderFormat } from './fields.ts'
import { uncalled } from './uncalled.ts'

/**
 * Options of `rateLimit()`. `Call` is what a framework calls its handlers with: `(req, res)` in Express,
 * `(ctx)` in Koa; every callback receives the same. A callback that throws charges nothing, and its error
 * goes to the framework's error handler.
 */
export interface RateLimitOptions<Call extends readonly unknown[]> {
  /** The quota's name; limiters of one name on one store share it. Default `'default'`. */
  readonly name?: string | undefined
  /**
   * One policy, or several that are decided in one step, or a function that gives them for a request (a
   * customer's plan, say). Default `slidingWindow({ limit: 100, windowMs: 60_000 })`.
   */
  readonly policy?:
    | Policy
    | readonly Policy[]
    | ((...call: Call) => Eventually<Policy | readonly Policy[]>)
  /** A ready limiter instead of `policy`, `name`, `store` and what else describes one. */
  readonly limiter?: RateLimiter | undefined
  /** Whose quota it is: a non-empty string. Default: the client's address, see `addressKey()`. */
  readonly key?: ((...call: Call) => Eventually<string>) | undefined
  /** Bits of an IPv6 address that make one client, in the default `key`: 1 to 128; default 56. */
  readonly ipv6Prefix?: number | undefined
  /** What a request costs: an integer from 1 to 1,000,000,000; default 1. */
  readonly cost?: number | ((...call: Call) => Eventually<number>) | undefined
  /** True: the request passes, uncounted and without fields. */
  readonly skip?: ((...call: Call) => Eventually<boolean>) | undefined
  /**
   * Asked once, after the whole answer was sent: true gives the cost back (a login that succeeded, say). Not
   * asked for refused requests, nor when the client left earlier: its cost stays spent. What the process
   * decided while the store was away goes back there. If it throws, the cost stays spent and an event tells.
   */
  readonly refund?: ((...call: Call) => Eventually<boolean>) | undefined
  /** Default: a {@link memoryStore} of the limiter's own. */
  readonly store?: Store | undefined
  /** Deadline of a store call in milliseconds: 1 to 60,000; default 500. */
  readonly timeoutMs?: number | undefined
  /** How long a refusal of a remote store is remembered in the process at most: 0 (off) to 60,000 ms; default 1000. */
  readonly denyCacheMs?: number | undefined
  /** What happens while the store cannot be asked; default `'local'`. `'closed'` answers 503. */
  readonly onStoreFailure?: OnStoreFailure | undefined
  /** Processes that share the quota, for `'local'`: 1 to 100,000; default 1. */
  readonly instances?: number | undefined
  /** False: decide, send the fields and the event, but never refuse and never delay. Default true. */
  readonly enforce?: boolean | undefined
  /**
   * Which response fields tell the quota; default `'draft-11'`. With `false` there are none but the
   * `Retry-After` of a refusal.
   */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | false | undefined
  /**
   * Answers a request over its limit instead of the problem document. Fields and status 429 are set; it
   * may change them. Not asked when a failed store is the reason: that is a 503 in any case.
   */
  readonly onLimited?: ((...call: [...Call, Decision]) => unknown) | undefined
}

/** A value, or a promise of it. */
export type Eventually<T> = T | PromiseLike<T>

/** The options as a gate uses them. */
export interface ResolvedOptions<Call extends readonly unknown[]> extends RateLimitOptions<Call> {
  readonly policy: NonNullable<RateLimitOptions<Call>['policy']>
  readonly ipv6Prefix: number
  readonly cost: number | ((...call: Call) => Eventually<number>)
  readonly enforce: boolean
  readonly formats: readonly HeaderFormat[]
}

/**
 * Checks the options once, at construction, and fills in the defaults.
 *
 * @throws ConfigurationError (`configuration`) naming the option, the value and the expectation.
 */
export function resolveOptions<Call extends readonly unknown[]>(
  given: RateLimitOptions<Call>,
): ResolvedOptions<Call> {
  const options = checkOptions('rateLimit', given, rules, hints)
  if (options.limiter) checkLimiter(options.limiter, options)
  const { policy = defaultPolicy, headers = 'draft-11' } = options
  if (typeof policy !== 'function') checkPolicies('rateLimit', policy)
  return {
    ...options,
    policy,
    ipv6Prefix: options.ipv6Prefix ?? 56,
    cost: options.cost ?? 1,
    enforce: options.enforce ?? true,
    formats: headers === false ? [] : [headers].flat(),
  }
}

const defaultPolicy: Policy = slidingWindow({ limit: 100, windowMs: 60_000 })

const hints = { ...middlewareHints, ...uncalled('rateLimit') }

const formatNames = Object.keys(fieldWriters)

const rules: Readonly<Record<keyof RateLimitOptions<readonly unknown[]>, Rule>> = {
  ...limiterRules,
  policy: {
    expected: 'one or more policies, or a function that gives them',
    accepts: (value) => value !== null,
  },
  limiter: {
    expected: 'a RateLimiter, as made by createRateLimiter() or fromFlexible()',
    accepts: isLimiter,
  },
  key: callback,
  ipv6Prefix: integer(1, 128, ' bits'),
  cost: either(integer(1, MAX_AMOUNT), callback),
  skip: callback,
  refund: callback,
  enforce: boolean,
  headers: {
    expected: `false, or one or more of ${formatNames.map((name) => `'${name}'`).join(', ')} (one legacy format at most)`,
    accepts: isHeaders,
  },
  onLimited: callback,
}

function isHeaders(value: unknown): boolean {
  if (value === false) return true
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  const known = names.filter((name) => typeof name === 'string' && formatNames.includes(name))
  const legacy = known.filter((name) => String(name).startsWith('legacy'))
  return names.length > 0 && known.length === names.length && legacy.length <= 1
}

/** A ready limiter brings its own policies, store and degradation: giving them twice is a mistake. */
function checkLimiter(limiter: RateLimiter, options: object): void {
  for (const name of ['policy', ...Object.keys(limiterRules)]) {
    const value: unknown = Reflect.get(options, name)
    if (value === undefined) continue
    throw new ConfigurationError('rateLimit', name, value, 'left out where `limiter` is given')
  }
  for (const policy of limiter.policies)
    if (!policyName.accepts(policy.name))
      throw new ConfigurationError(
        'rateLimit',
        'limiter',
        policy.name,
        `one whose policies have names that are ${policyName.expected}`,
      )
}
