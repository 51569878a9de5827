import { processStore } from '../memory-store.ts'
import { boolean, checkOptions, duration, integer, type Rule, withDefaults } from '../options.ts'
import type { Store } from '../store.ts'
import type { Lease } from './lease.ts'
import { StoredLocker } from './stored-locker.ts'

/** Options of {@link createLocker}. */
export interface LockerOptions {
  /** Default: a memory store that the whole process shares. */
  readonly store?: Store | undefined
  /** How long a silent holder keeps a key, in milliseconds from 50; default 10,000. */
  readonly leaseMs?: number | undefined
  /** No lease ends later than this after its acquire, in milliseconds from 50; default 60,000. */
  readonly maxHoldMs?: number | undefined
  /** Whether `using` renews the lease while the work runs; leases of `acquire` are renewed when it is `true`; default: `using` only. */
  readonly renew?: boolean | undefined
  /** Refuse a grant that fewer than `min` replicas acknowledged within `waitMs`; default: ask none. */
  readonly replicas?: { readonly min: number; readonly waitMs: number } | undefined
  /** Whether callers who wait stand in line and are woken; `false`: they ask again, with jitter; default `true`. */
  readonly handOver?: boolean | undefined
  /** Deadline of a store call in milliseconds: 1 to 60,000; default 500. */
  readonly timeoutMs?: number | undefined
}

/** How one acquire may wait. */
export interface AcquireOptions {
  /** How long to wait for a key that is held, in milliseconds: 0 to 2,147,483,647; default 0: one attempt. */
  readonly waitMs?: number | undefined
  /** Ends the wait at once, with its reason. */
  readonly signal?: AbortSignal | undefined
  /** A small JSON value that `inspect` shows to others, at most 1,024 characters as JSON. */
  readonly metadata?: unknown
}

/** What {@link Locker.inspect} tells of a key that is held. */
export interface LockState {
  readonly fence: number
  /** What the holder gave at acquire; undefined if nothing. */
  readonly metadata: unknown
  readonly heldMs: number
  readonly remainingMs: number
  /** Processes in line. */
  readonly waiters: number
}

/** Locks by key; made by {@link createLocker}. */
export interface Locker {
  /**
   * Takes the key, or all of several keys.
   *
   * @throws LockTimeoutError (`lock-timeout`) when it is held by others for all of `waitMs`; StoreUnavailableError
   * (`store-unavailable`) when the store's last answer is missing; ConfigurationError (`configuration`) for wrong keys
   * or options; the signal's reason.
   */
  acquire(key: string | readonly string[], options?: AcquireOptions): Promise<Lease>
  /** The lease, or undefined when the key is held. @throws as `acquire`, save LockTimeoutError. */
  tryAcquire(
    key: string | readonly string[],
    options?: Omit<AcquireOptions, 'waitMs'>,
  ): Promise<Lease | undefined>
  /** Holds the key while `work` runs; its result or error is the call's. @throws as `acquire`, and what `work` throws. */
  using<T>(
    key: string | readonly string[],
    options: AcquireOptions,
    work: (lease: Lease) => T | Promise<T>,
  ): Promise<T>
  /** Who holds the key; undefined: nobody. @throws StoreUnavailableError (`store-unavailable`) */
  inspect(key: string): Promise<LockState | undefined>
}

/**
 * Locks by key, without HTTP; for routes there are `lock()`, `withLock()` and `@Locked`.
 *
 * A lock is a lease: it lowers the chance that two work at the same time, and its fence says who came later. Only
 * what checks the fence, where the write happens, refuses a late one.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or out of range, and for `replicas` on a
 * store that cannot ask them.
 * @example
 * ```ts
 * import { createLocker } from '@sluice/core'
 *
 * const locker = createLocker({ leaseMs: 10_000 })
 * await locker.using('order:7', { waitMs: 2000 }, async ({ fence, signal }) => {
 *   signal.throwIfAborted()
 *   console.log(`UPDATE orders SET paid = true, last_fence = ${fence} WHERE id = 7 AND last_fence < ${fence}`)
 * })
 * ```
 */
export function createLocker(options: LockerOptions = {}): Locker {
  const checked = checkOptions('createLocker', options, lockerRules)
  return new StoredLocker(checked.store ?? processStore(), withDefaults(checked, defaults))
}

/** The rules of the options of {@link createLocker}, which guards have in part. */
export const lockerRules: Readonly<Record<keyof LockerOptions, Rule>> = {
  store: {
    expected: 'a store, as made by memoryStore() or redisStore()',
    accepts: (value) => typeof value === 'object' && value !== null && 'lock' in value,
  },
  leaseMs: duration(50),
  maxHoldMs: duration(50),
  renew: boolean,
  replicas: {
    expected: '{ min, waitMs }: integers from 1 and from 1 to 60,000',
    accepts: isReplicas,
  },
  handOver: boolean,
  timeoutMs: integer(1, 60_000, ' milliseconds'),
}

function isReplicas(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { min, waitMs, ...others } = value as Readonly<Record<string, unknown>>
  const isCount = integer(1, 1000).accepts(min)
  return isCount && integer(1, 60_000).accepts(waitMs) && Object.keys(others).length === 0
}

const defaults = {
  leaseMs: 10_000,
  maxHoldMs: 60_000,
  handOver: true,
  timeoutMs: 500,
}
