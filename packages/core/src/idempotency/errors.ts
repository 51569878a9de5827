import { SluiceError } from '../sluice-error.ts'

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
