import { SluiceError } from '../sluice-error.ts'

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
