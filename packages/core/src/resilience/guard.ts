import { ConfigurationError, StoreUnavailableError } from '../errors.ts'
import { emit } from '../events.ts'
import { aborts } from './aborts.ts'
import { attempt } from './attempt.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { Deadlines, type Pending } from './deadline.ts'

/**
 * The only way to a remote store: with a deadline, through the circuit, never repeated. What it rejects
 * with is a {@link StoreUnavailableError} (the call may have happened), the caller's abort reason, or the store's
 * {@link ConfigurationError} (it cannot be asked).
 */
export class StoreGuard {
  readonly timeoutMs: number
  readonly deadlines: Deadlines
  readonly circuit: CircuitBreaker | undefined

  constructor(timeoutMs: number, circuit: CircuitBreaker | undefined) {
    this.timeoutMs = timeoutMs
    this.deadlines = new Deadlines(timeoutMs)
    this.circuit = circuit
  }

  call<T>(operation: string, ask: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (this.circuit?.isOpen) return Promise.reject(circuitOpen())
    return new Promise<T>((resolve, reject) => {
      const call = new GuardedCall(this, operation, resolve, reject, signal)
      attempt(ask).then(call.answered, call.failed)
    })
  }
}

/** One call under way. Whatever comes first counts: answer, error, deadline or abort; the rest is ignored. */
class GuardedCall<T> implements Pending {
  dueAt = 0
  earlier: Pending | undefined
  later: Pending | undefined
  #settled = false
  readonly #guard: StoreGuard
  readonly #operation: string
  readonly #resolve: (answer: T) => void
  readonly #reject: (error: unknown) => void
  readonly #signal: AbortSignal | undefined
  readonly #stopListening: (() => void) | undefined

  constructor(
    guard: StoreGuard,
    operation: string,
    resolve: (answer: T) => void,
    reject: (error: unknown) => void,
    signal: AbortSignal | undefined,
  ) {
    this.#guard = guard
    this.#operation = operation
    this.#resolve = resolve
    this.#reject = reject
    this.#signal = signal
    guard.deadlines.start(this)
    this.#stopListening = signal && aborts.add(signal, () => this.#abort())
  }

  readonly answered = (answer: T): void => {
    if (this.#isLate()) return
    this.#guard.circuit?.succeeded()
    this.#resolve(answer)
  }

  readonly failed = (cause: unknown): void => {
    if (this.#isLate()) return
    // What cannot be asked of this store says nothing of how it is.
    if (cause instanceof ConfigurationError) this.#reject(cause)
    else this.#fail(new StoreUnavailableError('failure', 'it reported an error', cause))
  }

  expire(): void {
    if (this.#isLate()) return
    const { timeoutMs } = this.#guard
    this.#fail(new StoreUnavailableError('deadline', `no answer within ${timeoutMs} ms`))
  }

  #abort(): void {
    if (!this.#isLate()) this.#reject(this.#signal?.reason)
  }

  #isLate(): boolean {
    if (this.#settled) return true
    this.#settled = true
    this.#guard.deadlines.end(this)
    this.#stopListening?.()
    return false
  }

  #fail(error: StoreUnavailableError): void {
    this.#guard.circuit?.failed()
    emit('sluice:store', () => ({ type: 'failure', operation: this.#operation, error }))
    this.#reject(error)
  }
}

function circuitOpen(): StoreUnavailableError {
  return new StoreUnavailableError('circuit-open', 'its circuit is open after failures in a row')
}
