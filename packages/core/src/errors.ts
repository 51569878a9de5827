/** What every error of Sluice has: a literal `code` to switch on, structured fields, and `cause`. */
export abstract class SluiceError extends Error {
  abstract readonly code: string
  override get name(): string {
    return this.constructor.name
  }
}

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
    super(`The lock is held by somebody else, for all of the ${waitedMs} ms that were waited`)
    this.key = key
    this.waitedMs = waitedMs
    this.leftMs = leftMs
  }
}

/**
 * A request with an idempotency key has a body that no parser has read, so that two requests could not be told apart.
 * Goes to the error handler, which answers 500: mount the parser that the message names before `idempotency()`.
 *
 * @example
 * ```ts
 * import { IdempotencyBodyNotCapturedError } from '@sluice/core'
 *
 * function isMissingParser(error: unknown): boolean {
 *   return error instanceof IdempotencyBodyNotCapturedError
 * }
 * ```
 */
export class IdempotencyBodyNotCapturedError extends SluiceError {
  readonly code = 'idempotency-body-not-captured'
  /** What frameworks answer. */
  readonly status = 500
  /** The body's content type, as the client sent it. */
  readonly contentType: string

  constructor(contentType: string, advice: string) {
    super(
      `The body (${contentType || 'without a content type'}) was read by nobody: ${advice} before idempotency(), or give \`fingerprint\``,
    )
    this.contentType = contentType
  }
}

/**
 * `release()` was called when the response had begun: a client that has seen it must not see another one.
 *
 * @example
 * ```ts
 * import { ReleaseTooLateError, type RequestIdempotency } from '@sluice/core'
 *
 * async function releaseIfPossible(idempotency: RequestIdempotency): Promise<boolean> {
 *   try {
 *     await idempotency.release()
 *     return true
 *   } catch (error) {
 *     if (error instanceof ReleaseTooLateError) return false
 *     throw error
 *   }
 * }
 * ```
 */
export class ReleaseTooLateError extends SluiceError {
  readonly code = 'release-too-late'

  constructor() {
    super('release() must be called before the response begins')
  }
}

/**
 * `schedule()` would make more tasks wait than `maxPending` allows. Nothing was scheduled.
 *
 * @example
 * ```ts
 * import { QueueFullError } from '@sluice/core'
 *
 * function isOverload(error: unknown): boolean {
 *   return error instanceof QueueFullError
 * }
 * ```
 */
export class QueueFullError extends SluiceError {
  readonly code = 'queue-full'
  /** The queue's name. */
  readonly queue: string
  readonly maxPending: number

  constructor(queue: string, maxPending: number) {
    super(`The queue ${JSON.stringify(queue)} is full: ${maxPending} tasks are waiting`)
    this.queue = queue
    this.maxPending = maxPending
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

/**
 * The payload of a task is longer than `maxPayloadBytes` allows. Nothing was scheduled: store what is big elsewhere, and
 * schedule where it is.
 *
 * @example
 * ```ts
 * import { PayloadTooLargeError } from '@sluice/core'
 *
 * function excessBytes(error: unknown): number {
 *   return error instanceof PayloadTooLargeError ? error.bytes - error.maxPayloadBytes : 0
 * }
 * ```
 */
export class PayloadTooLargeError extends SluiceError {
  readonly code = 'payload-too-large'
  /** The length of the payload as JSON. */
  readonly bytes: number
  readonly maxPayloadBytes: number

  constructor(bytes: number, maxPayloadBytes: number) {
    super(`The payload must be at most ${maxPayloadBytes} bytes of JSON, but it is ${bytes}`)
    this.bytes = bytes
    this.maxPayloadBytes = maxPayloadBytes
  }
}

/**
 * Why the `signal` of a task was aborted: its worker was closed, the grace is over, and the task was handed back for
 * others to run.
 *
 * @example
 * ```ts
 * import { type Task, WorkerClosedError } from '@sluice/core'
 *
 * function isShutdown({ signal }: Task<unknown>): boolean {
 *   return signal.aborted && signal.reason instanceof WorkerClosedError
 * }
 * ```
 */
export class WorkerClosedError extends SluiceError {
  readonly code = 'worker-closed'

  constructor() {
    super('The worker was closed before the handler was done')
  }
}

/**
 * A transaction of an idempotent request was not committed, or nobody knows whether it was: its response must not be
 * delivered as a success. A retry with the same key runs it, or gets its result.
 *
 * @example
 * ```ts
 * import { TransactionNotCommittedError } from '@sluice/core'
 *
 * function mayRetryAtOnce(error: unknown): boolean {
 *   return error instanceof TransactionNotCommittedError && error.reason === 'failed'
 * }
 * ```
 */
export class TransactionNotCommittedError extends SluiceError {
  readonly code = 'transaction-not-committed'
  /**
   * `failed`: the database or the connection failed, see `cause`; `lease-lost`: somebody else has claimed the key, so
   * everything was rolled back; `ended`: the transaction was rolled back before.
   */
  readonly reason: 'failed' | 'lease-lost' | 'ended'

  constructor(reason: TransactionNotCommittedError['reason'], cause?: unknown) {
    super(
      `The transaction was not committed: ${lossesOf[reason]}`,
      cause === undefined ? undefined : { cause },
    )
    this.reason = reason
  }
}

const lossesOf = {
  failed: 'the database or the connection failed',
  'lease-lost': 'somebody else has claimed the key',
  ended: 'it was rolled back before',
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
