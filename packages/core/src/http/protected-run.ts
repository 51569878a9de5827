import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
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
  readonly maxBodyBytes: number
  readonly onServerError?: 'replay' | 'release' | undefined
  readonly replaySetCookie?: boolean | undefined
  readonly transactional?: boolean | undefined
}

/** One run of a handler: its response is recorded, and settles the claim. */
export class ProtectedRun implements WireListener {
  readonly handle: RequestIdempotency
  readonly #execution: Execution
  readonly #options: RunOptions
  readonly #response: ServerResponse
  readonly #recorder: WireRecorder
  /** The fields that were there before the handler; where its answer may have to be taken back. */
  readonly #before: OutgoingHttpHeaders | undefined
  #transaction: RequestTransaction | undefined
  #released: Promise<void> | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { key, execution }: { readonly key: string; readonly execution: Execution },
    options: RunOptions,
  ) {
    this.#execution = execution
    this.#options = options
    this.#response = response
    this.#before = options.transactional ? response.getHeaders() : undefined
    this.#recorder = new WireRecorder(request, response, this)
    this.handle = new Handle(key, execution, this)
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
    if (this.#transaction?.used) return this.#commit(recorded, this.#transaction)
    try {
      await this.#settle(recorded)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) await this.#execution.abandon().catch(ignore)
    }
  }

  cut(): void {
    if (this.#transaction?.used) void this.#transaction.undo()
    else void this.#execution.abandon().catch(ignore)
  }

  whenLost(then: () => void): void {
    const { signal } = this.#execution
    if (signal.aborted) then()
    else signal.addEventListener('abort', then, { once: true })
  }

  async release(): Promise<void> {
    if (!this.#released) {
      if (this.#recorder.headSent) throw new ReleaseTooLateError()
      this.#recorder.stop()
      this.#released = this.#transaction?.used
        ? this.#transaction.undo()
        : this.#execution.release()
    }
    return this.#released
  }

  /** Made for the first who asks: most runs have none. */
  get transaction(): RequestTransaction {
    this.#transaction ??= new RequestTransaction(this.#execution, () => {
      if (!this.#recorder.headSent) this.#recorder.stop()
    })
    return this.#transaction
  }

  #settle({ head, body }: Recorded): Promise<unknown> {
    if (this.#frees(head.status)) return this.#execution.release()
    if (body === undefined) return this.#execution.bury(remains(head))
    return this.#execution.complete(this.#stored(head, body))
  }

  /** What was not committed is not answered. */
  async #commit({ head, body }: Recorded, transaction: RequestTransaction): Promise<void> {
    if (this.#frees(head.status)) return transaction.undo()
    try {
      const response = body === undefined ? undefined : this.#stored(head, body)
      await transaction.commit(response, remains(head))
    } catch (error) {
      if (!(error instanceof TransactionNotCommittedError)) await transaction.undo()
      this.#recorder.replace(() => answerNotCommitted(this.#response, this.#before ?? {}))
    }
  }

  #stored(head: Head, body: string | Uint8Array): StoredResponse {
    const { status, reason } = head
    const headers = endToEnd(head, this.#options.replaySetCookie ?? false)
    return reason === undefined ? { status, headers, body } : { status, reason, headers, body }
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
  readonly transaction: RequestIdempotency['transaction']
  readonly #execution: Execution

  constructor(key: string, execution: Execution, run: ProtectedRun) {
    this.key = key
    this.attempt = execution.attempt
    this.fence = execution.fence
    this.release = () => run.release()
    this.transaction = (work) => run.transaction.run(work)
    this.#execution = execution
  }

  get signal(): AbortSignal {
    return this.#execution.signal
  }
}

function remains(head: Head): Tombstone {
  const { status } = head
  const location = fieldOf(head, 'location')
  return location === undefined ? { status } : { status, location }
}

/** The core has reported it, and goes on trying. */
function ignore(): void {}
