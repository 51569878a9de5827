import { StoreUnavailableError } from '../errors.ts'
import { emit } from '../events.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { Deadlines } from './deadline.ts'

/**
 * The only way to a remote store: with a deadline, through the circuit, never repeated. What it rejects
 * with is a {@link StoreUnavailableError} (the call may have happened), or the caller's abort reason.
 */
export class StoreGuard {
  readonly #deadlines: Deadlines
  readonly #timeoutMs: number
  readonly #circuit: CircuitBreaker | undefined

  constructor(timeoutMs: number, circuit: CircuitBreaker | undefined) {
    this.#timeoutMs = timeoutMs
    this.#deadlines = new Deadlines(timeoutMs)
    this.#circuit = circuit
  }

  call<T>(operation: string, ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (this.#circuit?.isOpen) return Promise.reject(circuitOpen())
    return new Promise<T>((resolve, reject) => {
      let open = true
      /** Runs `outcome` for whatever comes first: answer, error, deadline or abort. What comes later is ignored. */
      const first = (outcome: () => void) => {
        if (!open) return
        open = false
        stopClock()
        signal?.removeEventListener('abort', onAbort)
        outcome()
      }
      const fail = (error: StoreUnavailableError) => {
        this.#failed(operation, error)
        reject(error)
      }
      const onAbort = () => first(() => reject(signal?.reason))
      const stopClock = this.#deadlines.start(() => first(() => fail(this.#late())))
      signal?.addEventListener('abort', onAbort)
      ask().then(
        (answer) =>
          first(() => {
            this.#circuit?.succeeded()
            resolve(answer)
          }),
        (cause: unknown) =>
          first(() => fail(new StoreUnavailableError('failure', 'it reported an error', cause))),
      )
    })
  }

  #failed(operation: string, error: StoreUnavailableError): void {
    this.#circuit?.failed()
    emit('sluice:store', () => ({ type: 'failure', operation, error }))
  }

  #late(): StoreUnavailableError {
    return new StoreUnavailableError('deadline', `no answer within ${this.#timeoutMs} ms`)
  }
}

function circuitOpen(): StoreUnavailableError {
  return new StoreUnavailableError('circuit-open', 'its circuit is open after failures in a row')
}
