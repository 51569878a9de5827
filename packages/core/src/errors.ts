import type { PayloadTooLargeError, QueueFullError, WorkerClosedError } from './delay/errors.ts'
import type {
  IdempotencyBodyNotCapturedError,
  ReleaseTooLateError,
  TransactionNotCommittedError,
} from './idempotency/errors.ts'
import type { LockTimeoutError, StaleFenceError } from './lock/errors.ts'
import { SluiceError } from './sluice-error.ts'

export * from './delay/errors.ts'
export * from './idempotency/errors.ts'
export * from './lock/errors.ts'

export { SluiceError }

/**
 * An option, a key or a cost that cannot be used as given. Thrown at construction for options, and by a
 * call, before anything is sent, for its arguments.
 *
 * @example
 * ```ts
 * import { ConfigurationError, fixedWindow } from '@sluice/core'
 *
 * try {
 *   fixedWindow({ limit: -1, windowMs: 60_000 })
 * } catch (error) {
 *   if (error instanceof ConfigurationError) console.log(error.option, error.expected)
 * }
 * ```
 */
export class ConfigurationError extends SluiceError {
  readonly code = 'configuration'
  /** The option or argument that is wrong, as `owner.option` without the owner. */
  readonly option: string
  /** What was given. */
  readonly value: unknown
  /** What would have been right, in words. */
  readonly expected: string

  constructor(owner: string, option: string, value: unknown, expected: string) {
    super(`${owner}: \`${option}\` must be ${expected}, but got ${show(value)}`)
    this.option = option
    this.value = value
    this.expected = expected
  }
}

/**
 * The store did not answer within its deadline, answered with an error, or its circuit is open. What was
 * asked for may or may not have happened.
 *
 * @example
 * ```ts
 * import { createRateLimiter, fixedWindow, StoreUnavailableError } from '@sluice/core'
 *
 * const limiter = createRateLimiter({ policy: fixedWindow({ limit: 5, windowMs: 1000 }) })
 * await limiter.reset('user:1').catch((error) => {
 *   if (!(error instanceof StoreUnavailableError)) throw error
 * })
 * ```
 */
export class StoreUnavailableError extends SluiceError {
  readonly code = 'store-unavailable'
  /**
   * `deadline`: no answer in time; `failure`: the store or the client reported an error; `circuit-open`: not asked;
   * `full`: a memory store holds `maxKeys` records, none of which it may drop.
   */
  readonly reason: 'deadline' | 'failure' | 'circuit-open' | 'full'

  constructor(reason: StoreUnavailableError['reason'], expected: string, cause?: unknown) {
    super(`The store is unavailable: ${expected}`, cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}

/**
 * Why the `signal` of an execution, of a lock's lease or of a task was aborted, or one of the last two could not be
 * extended: somebody else may own it from now on, or soon. What has not been done yet should be left undone.
 *
 * @example
 * ```ts
 * import { type Execution, LeaseLostError } from '@sluice/core'
 *
 * function mustStop({ signal }: Execution): boolean {
 *   return signal.aborted && signal.reason instanceof LeaseLostError
 * }
 * ```
 */
export class LeaseLostError extends SluiceError {
  readonly code = 'lease-lost'
  /**
   * `silence`: the lease is about to end, and no renewal got through; `taken`: the store says that the lease has
   * ended; `max-run`: the longest time for which an execution is renewed is over; `max-hold`: a lock's lease is about
   * to end, since it may not last longer.
   */
  readonly reason: 'silence' | 'taken' | 'max-run' | 'max-hold'

  constructor(reason: LeaseLostError['reason']) {
    super(`The lease is lost: ${lossOf[reason]}`)
    this.reason = reason
  }
}

const lossOf = {
  silence: 'no renewal got through to the store before its end',
  taken: 'it has ended by the clock of the store',
  'max-run': 'it was renewed for as long as `maxRunMs` allows',
  'max-hold': 'it lasts no longer than `maxHoldMs` allows',
}

/** Every error that Sluice throws, so that a `switch` on `code` narrows. */
export type AnySluiceError =
  | ConfigurationError
  | StoreUnavailableError
  | LeaseLostError
  | LockTimeoutError
  | IdempotencyBodyNotCapturedError
  | ReleaseTooLateError
  | QueueFullError
  | PayloadTooLargeError
  | WorkerClosedError
  | StaleFenceError
  | TransactionNotCommittedError

/** A short, harmless rendering of any value for a message. */
function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null)
    return `an object (${Object.keys(value).slice(0, 5).join(', ')})`
  return typeof value === 'bigint' ? `${value}n` : String(value)
}
