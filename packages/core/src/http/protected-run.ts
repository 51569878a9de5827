import type { IncomingMessage, ServerResponse } from 'node:http'
import { ReleaseTooLateError, StoreUnavailableError } from '../errors.ts'
import type { Execution } from '../idempotency/idempotency.ts'
import { fieldOf } from './response-head.ts'
import { endToEnd } from './stored-fields.ts'
import type { Recorded } from './wire-listener.ts'
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
  readonly key: string
  readonly execution: Execution
  readonly maxBodyBytes: number
  readonly onServerError?: 'replay' | 'release' | undefined
  readonly replaySetCookie?: boolean | undefined
}

/** One run of a handler: its response is recorded, and settles the claim. */
export class ProtectedRun {
  readonly handle: RequestIdempotency
  readonly #options: RunOptions
  readonly #recorder: WireRecorder
  #released: Promise<void> | undefined

  constructor(request: IncomingMessage, response: ServerResponse, options: RunOptions) {
    const { key, execution, maxBodyBytes } = options
    this.#options = options
    this.#recorder = new WireRecorder(request, response, {
      maxBodyBytes,
      ended: (recorded) => this.#settle(recorded),
      cut: () => void execution.abandon().catch(ignore),
      whenLost: (then) => {
        if (execution.signal.aborted) then()
        else execution.signal.addEventListener('abort', then, { once: true })
      },
    })
    this.handle = {
      key,
      attempt: execution.attempt,
      fence: execution.fence,
      get signal() {
        return execution.signal
      },
      release: () => this.#release(),
    }
  }

  /** The handler threw, or rejected: a response that it has begun will not be whole. */
  failed(): void {
    this.#recorder.severed()
  }

  async #release(): Promise<void> {
    if (!this.#released) {
      if (this.#recorder.headSent) throw new ReleaseTooLateError()
      this.#recorder.stop()
      this.#released = this.#options.execution.release()
    }
    return this.#released
  }

  /** A store that does not answer keeps the response no longer: the claim stays, and the core tries again. */
  async #settle({ head, body }: Recorded): Promise<void> {
    const { execution, replaySetCookie = false } = this.#options
    const { status, reason } = head
    try {
      if (this.#frees(status)) await execution.release()
      else if (body === undefined) await execution.bury(remains(status, fieldOf(head, 'location')))
      else {
        const headers = endToEnd(head, replaySetCookie)
        await execution.complete({ status, ...(reason !== undefined && { reason }), headers, body })
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) await execution.abandon().catch(ignore)
    }
  }

  /** 408, 425 and 429 say that nothing was processed. */
  #frees(status: number): boolean {
    if (status === 408 || status === 425 || status === 429) return true
    return status >= 500 && this.#options.onServerError === 'release'
  }
}

function remains(status: number, location: string | undefined) {
  return location === undefined ? { status } : { status, location }
}

/** The core has reported it, and goes on trying. */
function ignore(): void {}
