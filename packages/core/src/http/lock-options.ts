import { ConfigurationError } from '../errors.ts'
import { type LockerOptions, lockerRules } from '../lock/locker.ts'
import { checkAcquire, checkKeys } from '../lock/request.ts'
import { checkOptions, integer, oneOf, type Rule } from '../options.ts'
import type { Eventually } from './rate-limit-options.ts'
import { isRequest } from './uncalled.ts'

/**
 * What is locked: a key, several keys that are taken together, or a function that tells them for a request. `Call` is
 * what a framework calls its handlers with: `(req, res)` in Express, `(ctx)` in Koa. A function that throws locks
 * nothing, and its error goes to the framework's error handler.
 */
export type LockKey<Call extends readonly unknown[]> =
  | string
  | readonly string[]
  | ((...call: Call) => Eventually<string | readonly string[]>)

/** What `inspect()` tells others of a holder: a small JSON value. */
export type LockMetadata = string | number | boolean | object | null

/** Options of `lock()`, `withLock()` and `@Locked`. */
export interface LockGateOptions<Call extends readonly unknown[]>
  extends Pick<LockerOptions, GuardsOwn> {
  /**
   * How long a request stands in line for a key that is held, in milliseconds from 0; default 0: it is refused at once.
   * A client that leaves leaves the line.
   */
  readonly waitMs?: number | undefined
  /** Whether the lease is renewed until the handler is done, for `maxHoldMs` at most; default true. */
  readonly renew?: boolean | undefined
  /** What `inspect()` shows of the holder, at most 1,024 characters as JSON; or a function that tells it for a request. */
  readonly metadata?: LockMetadata | ((...call: Call) => Eventually<LockMetadata>) | undefined
  /** While the store cannot be asked: refuse with 503, or run the handler without a lock. Default `'closed'`. */
  readonly onStoreFailure?: 'closed' | 'open' | undefined
  /** The status of a refusal because the key is held, from 400 to 599; default 423. */
  readonly status?: number | undefined
}

/**
 * Checks what a guard is given to lock. `owner` is the function that it was given to.
 *
 * @throws ConfigurationError (`configuration`), saying what to do.
 */
export function checkLockKey(owner: string, key: unknown): void {
  if (typeof key === 'string' || Array.isArray(key)) checkKeys(owner, key)
  else if (typeof key !== 'function') {
    const expected = isRequest(key)
      ? `given: write app.use(${owner}(key)), not app.use(${owner})`
      : 'a non-empty string, an array of such, or a function that tells it for a request'
    throw new ConfigurationError(owner, 'key', key, expected)
  }
}

/** The options as a gate uses them. */
export interface ResolvedLockOptions<Call extends readonly unknown[]>
  extends LockGateOptions<Call> {
  readonly waitMs: number
  readonly status: number
  readonly locker: LockerOptions
}

/**
 * Checks the options once, at construction, and fills in the defaults. `owner` is the function that they were given to.
 *
 * @throws ConfigurationError (`configuration`) naming the option, the value and the expectation.
 */
export function resolveLockOptions<Call extends readonly unknown[]>(
  owner: string,
  given: LockGateOptions<Call>,
): ResolvedLockOptions<Call> {
  const options = checkOptions(owner, given, rules)
  const { store, leaseMs, maxHoldMs, timeoutMs, renew = true, waitMs = 0, metadata } = options
  checkAcquire(owner, typeof metadata === 'function' ? { waitMs } : { waitMs, metadata })
  return {
    ...options,
    waitMs,
    status: options.status ?? 423,
    locker: { store, leaseMs, maxHoldMs, timeoutMs, renew },
  }
}

type GuardsOwn = 'store' | 'leaseMs' | 'maxHoldMs' | 'timeoutMs'

/** As an acquire checks it. */
const checkedLater: Rule = { expected: 'what an acquire takes', accepts: () => true }

const { store, leaseMs, maxHoldMs, timeoutMs, renew } = lockerRules

const rules: Readonly<Record<keyof LockGateOptions<readonly unknown[]>, Rule>> = {
  store,
  leaseMs,
  maxHoldMs,
  timeoutMs,
  renew,
  waitMs: checkedLater,
  metadata: checkedLater,
  onStoreFailure: oneOf('closed', 'open'),
  status: integer(400, 599),
}
