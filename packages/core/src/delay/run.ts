import { LeaseLostError, WorkerClosedError } from '../errors.ts'
import { emit } from '../events.ts'
import { Renewal } from '../resilience/renewal.ts'
import { about, type QueueAccess, type Settlements } from './settlements.ts'
import type { ClaimedTask, RunEnd } from './store.ts'
import type { Task, TaskError, TaskHandler } from './task.ts'

/** What the runs of a worker have in common. */
export interface RunContext extends QueueAccess {
  readonly settlements: Settlements
  readonly visibilityMs: number
  readonly maxAttempts: number
  readonly backoffMs: (attempt: number) => number
}

/** One run of a task: keeps its visibility while the handler runs, and tells the store how it ended. */
export class Run<T> {
  readonly #context: RunContext
  readonly #claimed: ClaimedTask
  readonly #renewal: Renewal
  readonly #signal = new LazySignal()
  /** Whether the store was told, or need not be, how the run ended. */
  #over = false

  /** `startedAt`: just before the claim was sent, by the monotonic clock. */
  constructor(context: RunContext, claimed: ClaimedTask, startedAt: number) {
    const { store, queue, visibilityMs } = context
    const { id, receipt } = claimed
    this.#context = context
    this.#claimed = claimed
    this.#renewal = new Renewal({
      startedAt,
      leaseMs: visibilityMs,
      maxRunMs: Number.POSITIVE_INFINITY,
      renew: () => store.ask('extend', (port) => port.extend(queue, id, receipt, visibilityMs)),
      onLost: (reason) => this.#lost(reason),
    })
  }

  /** Runs the handler to its end; never rejects. */
  async work(handler: TaskHandler<T>): Promise<void> {
    const { queue } = this.#context
    const { lateMs } = this.#claimed
    emit('sluice:delay', () => ({ type: 'claim', ...about(queue, this.#claimed), lateMs }))
    try {
      await handler(this.#task())
      this.#end({ state: 'done' })
    } catch (error) {
      this.#end(this.#afterFailure(error), error)
    }
  }

  /** Others shall run the task: the grace is over. */
  handBack(): void {
    const { attempt } = this.#claimed
    const error = new WorkerClosedError()
    if (attempt < this.#context.maxAttempts) this.#end({ state: 'returned', attempted: true })
    else this.#end({ state: 'dead', error: describe(error) })
    this.#signal.abort(error)
  }

  /** After a run that the store has ended there is nothing to say; what was silent may still be this run's. */
  #lost(reason: LeaseLostError['reason']): void {
    const { queue } = this.#context
    emit('sluice:delay', () => ({ type: 'lease-lost', ...about(queue, this.#claimed), reason }))
    if (reason === 'taken') this.#over = true
    this.#signal.abort(new LeaseLostError(reason))
  }

  #end(end: RunEnd, error?: unknown): void {
    this.#renewal.stop()
    if (this.#over) return
    this.#over = true
    this.#context.settlements.add({ task: this.#claimed, end, error })
  }

  #afterFailure(error: unknown): RunEnd {
    const { attempt } = this.#claimed
    const { maxAttempts, backoffMs } = this.#context
    return attempt < maxAttempts
      ? { state: 'retry', delayMs: backoffMs(attempt) }
      : { state: 'dead', error: describe(error) }
  }

  /** @throws SyntaxError for a payload that is no JSON: somebody else wrote it, and it may be another process's to read. */
  #task(): Task<T> {
    const { id, payload, attempt, fence, dueAt } = this.#claimed
    const signal = this.#signal
    return {
      id,
      payload: JSON.parse(payload) as T,
      attempt,
      fence,
      dueAt: new Date(dueAt),
      get signal() {
        return signal.read()
      },
      extend: () => this.#extend(),
    }
  }

  async #extend(): Promise<void> {
    this.#signal.throwIfAborted()
    const renewed = await this.#renewal.renew()
    this.#signal.throwIfAborted()
    if (!renewed) throw new LeaseLostError('taken')
  }
}

/** Made when a handler reads it for the first time: most never do, and run faster without. */
class LazySignal {
  #controller: AbortController | undefined
  #reason: unknown

  read(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason
  }
}

/** Whatever was thrown, as it is kept with a dead task. */
function describe(error: unknown): TaskError {
  try {
    return error instanceof Error
      ? { name: shortened(error.name), message: shortened(error.message) }
      : { name: 'Error', message: shortened(error) }
  } catch {
    return { name: 'Error', message: 'what was thrown cannot be shown' }
  }
}

function shortened(text: unknown): string {
  return String(text).slice(0, LONGEST_TEXT)
}

const LONGEST_TEXT = 1000
