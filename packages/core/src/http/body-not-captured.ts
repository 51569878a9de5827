import { SluiceError } from '../errors.ts'

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
