import type { IncomingMessage, ServerResponse } from 'node:http'
import { ReleaseTooLateError, StoreUnavailableError } from '../errors.ts'
import type { Execution } from '../idempotency/idempotency.ts'
import { fieldOf } from './response-head.ts'
import { endToEnd } from './stored-fields.ts'
import type { Recorded, WireListener } from './wire-listener.ts'
import { WireRecorder } from './wire-recorder.ts'

/** What a handler finds: `req.idempotency`, `ctx.state.idempotency`. */
export interface RequestIdempotency {
  readonly key: string
  /** 1, or more when earlier runs of this key ended unknown. */
  readonly attempt: number
  /** Higher than those of all earlier runs of this key: for the database to check. */
  readonly fence: number
  /** Aborted with a `LeaseLostError` when somebody else may own the key, now or soon. */
  readonly signal: AbortSignal
  /**
   * Says that nothing happened: a retry may run, and what is answered now is not kept.
   *
   * @throws ReleaseTooLateError (`release-too-late`) once the response has begun; StoreUnavailableError
   * (`store-unavailable`) after one deadline, while it is tried again in the background.
   */
  release(): Promise<void>
}

/** What a run needs to know of its options. */
export interface RunOptions {
  readonly maxBodyBytes: number
  readonly onServerError?: 'replay' | 'release' | undefined
  readonly replaySetCookie?: boolean | undefined
}

/** One run of a handler: its response is recorded, and settles the claim. */
export class ProtectedRun implements WireListener {
  readonly handle: RequestIdempotency
  readonly #execution: Execution
  readonly #options: RunOptions
  readonly #recorder: WireRecorder
  #released: Promise<void> | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { key, execution }: { readonly key: string; readonly execution: Execution },
    options: RunOptions,
  ) {
    this.#execution = execution
    this.#options = options
    this.#recorder = new WireRecorder(request, response, this)
    this.handle = new Handle(key, execution, () => this.#release())
  }

  get maxBodyBytes(): number {
    return this.#options.maxBodyBytes
  }

  /** The handler threw, or rejected: a response that it has begun will not be whole. */
  failed(): void {
    this.#recorder.severed()
  }

  /** A store that does not answer keeps the response no longer: the claim stays, and the core tries again. */
  async ended(recorded: Recorded): Promise<void> {
    try {
      await this.#settle(recorded)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) await this.#execution.abandon().catch(ignore)
    }
  }

  cut(): void {
    void this.#execution.abandon().catch(ignore)
  }

  whenLost(then: () => void): void {
    const { signal } = this.#execution
    if (signal.aborted) then()
    else signal.addEventListener('abort', then, { once: true })
  }

  async #release(): Promise<void> {
    if (!this.#released) {
      if (this.#recorder.headSent) throw new ReleaseTooLateError()
      this.#recorder.stop()
      this.#released = this.#execution.release()
    }
    return this.#released
  }

  #settle({ head, body }: Recorded): Promise<unknown> {
    const execution = this.#execution
    const { status, reason } = head
    if (this.#frees(status)) return execution.release()
    if (body === undefined) return execution.bury(remains(status, fieldOf(head, 'location')))
    const headers = endToEnd(head, this.#options.replaySetCookie ?? false)
    return execution.complete(
      reason === undefined ? { status, headers, body } : { status, reason, headers, body },
    )
  }

  /** 408, 425 and 429 say that nothing was processed. */
  #frees(status: number): boolean {
    if (status === 408 || status === 425 || status === 429) return true
    return status >= 500 && this.#options.onServerError === 'release'
  }
}

/** A class, since V8 makes an object with an accessor of its own by its slow path. */
class Handle implements RequestIdempotency {
  readonly key: string
  readonly attempt: number
  readonly fence: number
  readonly release: () => Promise<void>
  readonly #execution: Execution

  constructor(key: string, execution: Execution, release: () => Promise<void>) {
    this.key = key
    this.attempt = execution.attempt
    this.fence = execution.fence
    this.release = release
    this.#execution = execution
  }

  get signal(): AbortSignal {
    return this.#execution.signal
  }
}

function remains(status: number, location: string | undefined) {
  return location === undefined ? { status } : { status, location }
}

/** The core has reported it, and goes on trying. */
function ignore(): void {}
