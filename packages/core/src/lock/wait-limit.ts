import { aborts } from '../resilience/aborts.ts'
import type { Wait } from './caller.ts'

/** Ends with the wait, or with the caller's own signal. */
export class WaitLimit {
  /** What `signal` is aborted with at the end of the wait. */
  static readonly reached: unique symbol = Symbol('the wait is over')
  readonly untilMs: number
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #stopListening: (() => void) | undefined

  constructor({ waitMs, signal }: Wait) {
    this.untilMs = performance.now() + waitMs
    this.#timer = setTimeout(() => this.#controller.abort(WaitLimit.reached), waitMs)
    this.#stopListening = signal && aborts.add(signal, () => this.#controller.abort(signal.reason))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#stopListening?.()
  }
}
