import { SluiceError } from '../sluice-error.ts'

/**
 * Somebody else held the lock for all of `waitMs`: that is how `acquire` and `using` refuse. `tryAcquire` refuses with
 * `undefined` instead.
 *
 * @example
 * ```ts
 * import { createLocker, LockTimeoutError } from '@sluice/core'
 *
 * const locker = createLocker()
 * await locker
 *   .using('order:7', { waitMs: 2000 }, async () => {})
 *   .catch((error) => {
 *     if (!(error instanceof LockTimeoutError)) throw error
 *   })
 * ```
 */
export class LockTimeoutError extends SluiceError {
  readonly code = 'lock-timeout'
  /** The key, or the keys, that were asked for. */
  readonly key: string | readonly string[]
  /** How long was waited, in milliseconds. */
  readonly waitedMs: number
  /** Milliseconds until the lease that was in the way ends, if nobody releases or renews it before. */
  readonly leftMs: number

  constructor(key: string | readonly string[], waitedMs: number, leftMs: number) {
    super(
      `The lock is held by somebody else, who did not release it within ${waitedMs} ms: try again later, or wait longer (\`waitMs\`)`,
    )
    this.key = key
    this.waitedMs = waitedMs
    this.leftMs = leftMs
  }
}

/**
 * A write came with a fence that is lower than one that was accepted for the same resource: its owner lost the lease,
 * and somebody else has written since. Leave the transaction undone.
 *
 * @example
 * ```ts
 * import { StaleFenceError } from '@sluice/core'
 *
 * function hasLostTheLease(error: unknown): boolean {
 *   return error instanceof StaleFenceError && error.fence < error.acceptedFence
 * }
 * ```
 */
export class StaleFenceError extends SluiceError {
  readonly code = 'stale-fence'
  /** What the writer came with. */
  readonly fence: number
  /** The highest fence that was accepted so far. */
  readonly acceptedFence: number

  constructor(fence: number, acceptedFence: number, cause?: unknown) {
    super(
      `Fence ${fence} is stale: ${acceptedFence} was accepted already`,
      cause === undefined ? undefined : { cause },
    )
    this.fence = fence
    this.acceptedFence = acceptedFence
  }
}
