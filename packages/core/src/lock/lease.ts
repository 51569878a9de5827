/**
 * A lock that is held for a while, and only for a while: a process that is paused, or cut off from the store, loses it
 * without notice. What must not happen twice needs {@link Lease.fence}, checked where the write happens.
 */
export interface Lease extends AsyncDisposable {
  /** The key, or the keys that were taken together. */
  readonly key: string | readonly string[]
  /** 128 random bits that prove the ownership; never in events and messages. */
  readonly token: string
  /** Higher than the fence of every earlier grant of the key: a safe integer. The resource refuses lower ones. */
  readonly fence: number
  /** Aborted with a `LeaseLostError`, before the lease ends, when it is known or feared to be lost. */
  readonly signal: AbortSignal
  /** Milliseconds for which the lease is still sure to last, by the monotonic clock; 0 or less: do not write. */
  remainingMs(): number
  /**
   * Makes the lease last `leaseMs` from now, but not longer than `maxHoldMs` from its acquire.
   *
   * @throws LeaseLostError (`lease-lost`), StoreUnavailableError (`store-unavailable`)
   */
  extend(): Promise<void>
  /**
   * Gives the lease back and wakes who is next; a second call has no further effect. Leaving an `await using` block does
   * the same, and never throws. `already-lost`: the store no longer had it, since it had ended; or since a client that
   * sends again what a broken connection left unanswered has sent this release twice.
   *
   * @throws StoreUnavailableError (`store-unavailable`) after one deadline; it is tried again in the background until
   * the lease would have ended.
   */
  release(): Promise<'released' | 'already-lost'>
}
