import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  ReleaseTooLateError,
  StoreUnavailableError,
  TransactionNotCommittedError,
} from '../errors.ts'
import type { Execution } from '../idempotency/idempotency.ts'
import type { StoredResponse, Tombstone } from '../idempotency/record.ts'
import { answerNotCommitted } from './not-committed.ts'
import { RequestTransaction, type TransactionClient } from './request-transaction.ts'
import { fieldOf, type Head } from './response-head.ts'
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
  /**
   * Runs the writes in a transaction that is committed together with the response, once that is complete: everything
   * happens, or nothing. For `transactional: true` with a postgresStore. Work that throws is rolled back, frees the key,
   * and rejects with the same; what is answered then is not kept. Several calls share one transaction. The client ends
   * with it, and must not be released, nor begin or end transactions.
   *
   * @throws ConfigurationError (`configuration`) without `transactional`; StoreUnavailableError (`store-unavailable`)
   * when no transaction begins within `timeoutMs`; TransactionNotCommittedError (`transaction-not-committed`) when it
   * was rolled back before.
   */
  transaction<Result, Client = TransactionClient>(
    work: (client: Client) => Result | Promise<Result>,
  ): Promise<Result>
}

/** What a run needs to know of its options. */
export interface RunOptions {
  readonly key: string
  readonly execution: Execution
  readonly maxBodyBytes: number
  readonly onServerError?: 'replay' | 'release' | undefined
  readonly replaySetCookie?: boolean | undefined
  readonly transactional?: boolean | undefined
}

/** One run of a handler: its response is recorded, and settles the claim. */
export class ProtectedRun {
  readonly handle: RequestIdempotency
  readonly #options: RunOptions
  readonly #recorder: WireRecorder
  readonly #transaction: RequestTransaction
  readonly #refuse: () => string
  #released: Promise<void> | undefined

  constructor(request: IncomingMessage, response: ServerResponse, options: RunOptions) {
    const { key, execution, maxBodyBytes, transactional = false } = options
    this.#options = options
    const before = transactional ? response.getHeaders() : {}
    this.#refuse = () => answerNotCommitted(response, before)
    this.#transaction = new RequestTransaction(execution, () => {
      if (!this.#recorder.headSent) this.#recorder.stop()
    })
    this.#recorder = new WireRecorder(request, response, {
      maxBodyBytes,
      ended: (recorded) => this.#settle(recorded),
      cut: () => this.#cut(),
      whenLost: (then) => execution.signal.addEventListener('abort', then, { once: true }),
    })
    this.handle = {
      key,
      attempt: execution.attempt,
      fence: execution.fence,
      get signal() {
        return execution.signal
      },
      release: () => this.#release(),
      transaction: (work) => this.#transaction.run(work),
    }
  }

  async #release(): Promise<void> {
    if (!this.#released) {
      if (this.#recorder.headSent) throw new ReleaseTooLateError()
      this.#recorder.stop()
      const { used } = this.#transaction
      this.#released = used ? this.#transaction.undo() : this.#options.execution.release()
    }
    return this.#released
  }

  #cut(): void {
    if (this.#transaction.used) void this.#transaction.undo()
    else void this.#options.execution.abandon().catch(ignore)
  }

  /** A store that does not answer keeps the response no longer: the claim stays, and the core tries again. */
  async #settle({ head, body }: Recorded): Promise<void> {
    if (this.#transaction.used) return this.#commit({ head, body })
    const { execution } = this.#options
    try {
      if (this.#frees(head.status)) await execution.release()
      else if (body === undefined) await execution.bury(remains(head))
      else await execution.complete(this.#stored(head, body))
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) await execution.abandon().catch(ignore)
    }
  }

  /** What was not committed is not answered. */
  async #commit({ head, body }: Recorded): Promise<void> {
    if (this.#frees(head.status)) return this.#transaction.undo()
    try {
      const response = body === undefined ? undefined : this.#stored(head, body)
      await this.#transaction.commit(response, remains(head))
    } catch (error) {
      if (!(error instanceof TransactionNotCommittedError)) await this.#transaction.undo()
      this.#recorder.replace(this.#refuse)
    }
  }

  #stored(head: Head, body: string | Uint8Array): StoredResponse {
    const { status, reason } = head
    const headers = endToEnd(head, this.#options.replaySetCookie ?? false)
    return { status, ...(reason !== undefined && { reason }), headers, body }
  }

  /** 408, 425 and 429 say that nothing was processed. */
  #frees(status: number): boolean {
    if (status === 408 || status === 425 || status === 429) return true
    return status >= 500 && this.#options.onServerError === 'release'
  }
}

function remains(head: Head): Tombstone {
  const { status } = head
  const location = fieldOf(head, 'location')
  return location === undefined ? { status } : { status, location }
}

/** The core has reported it, and goes on trying. */
function ignore(): void {}
