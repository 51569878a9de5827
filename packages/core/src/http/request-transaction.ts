import { ConfigurationError, TransactionNotCommittedError } from '../errors.ts'
import type { Execution, ExecutionTransaction } from '../idempotency/idempotency.ts'
import type { StoredResponse, Tombstone } from '../idempotency/record.ts'

/** What every client of a database offers; give the parameter of your callback your driver's type for more. */
export interface TransactionClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>
}

/** The transaction of one request: open from the first use on until the answer is complete. */
export class RequestTransaction {
  readonly #execution: Execution
  readonly #onUndone: () => void
  #opening: Promise<ExecutionTransaction> | undefined
  #open: ExecutionTransaction | undefined
  #work: Promise<unknown> = Promise.resolve()
  #busy = 0
  #undone: Promise<void> | undefined

  /** `onUndone` is called once, when the work is rolled back. */
  constructor(execution: Execution, onUndone: () => void) {
    this.#execution = execution
    this.#onUndone = onUndone
  }

  /** Whether there is something to commit, or was. */
  get used(): boolean {
    return this.#opening !== undefined
  }

  /** Runs work in the transaction; a failure undoes everything, and frees the key. */
  run<Result, Client>(work: (client: Client) => Result | Promise<Result>): Promise<Result> {
    const running = this.#run(work)
    // Whoever commits waits for all of it, and is told of no failure but by `#undone`.
    this.#work = Promise.allSettled([this.#work, running])
    return running
  }

  async #run<Result, Client>(work: (client: Client) => Result | Promise<Result>): Promise<Result> {
    if (this.#undone !== undefined) throw new TransactionNotCommittedError('ended')
    this.#opening ??= this.#begin()
    const { client } = await this.#opening
    this.#busy++
    try {
      const result = await work(client as Client)
      this.#busy--
      return result
    } catch (error) {
      this.#busy--
      await this.undo()
      throw error
    }
  }

  /** @throws TransactionNotCommittedError (`transaction-not-committed`) */
  async commit(response: StoredResponse | undefined, tombstone: Tombstone): Promise<void> {
    await untilAborted(this.#execution.signal, this.#work)
    if (this.#undone !== undefined || !this.#open) throw new TransactionNotCommittedError('ended')
    this.#execution.signal.removeEventListener('abort', this.#lost)
    await this.#open.commit(response, tombstone)
  }

  /** Rolls back and frees the key: nothing happened. */
  undo(): Promise<void> {
    this.#undone ??= this.#undo()
    return this.#undone
  }

  async #begin(): Promise<ExecutionTransaction> {
    try {
      this.#open = await this.#execution.transaction()
    } catch (error) {
      // What was configured wrongly has nothing to undo, and says nothing about what else the handler has done.
      if (error instanceof ConfigurationError) this.#opening = undefined
      else await this.undo()
      throw error
    }
    const { signal } = this.#execution
    if (signal.aborted) this.#lost()
    else signal.addEventListener('abort', this.#lost, { once: true })
    return this.#open
  }

  /** What the handler still does must not be committed by anybody: its connection ends. */
  readonly #lost = (): void => void this.undo()

  async #undo(): Promise<void> {
    this.#execution.signal.removeEventListener('abort', this.#lost)
    this.#onUndone()
    await this.#open?.rollback(this.#busy > 0)
    // After a deadline the core goes on trying.
    await this.#execution.release().catch(() => {})
  }
}

function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<unknown> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const over = () => resolve(signal.removeEventListener('abort', over))
    signal.addEventListener('abort', over)
    void work.then(over)
  })
}
