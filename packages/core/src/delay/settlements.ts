import { emit, hashKey } from '../events.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import { retryUntil } from '../resilience/retry.ts'
import type { DelayEvent, TaskReturnedEvent } from './event.ts'
import type { ClaimedTask, ExpiredTask, RunEnd, SettleTaskReply } from './store.ts'

/** The way to one queue. */
export interface QueueAccess {
  readonly store: GuardedPort<'delay'>
  readonly queue: string
}

/** How the run of a task ended. */
export interface Ending {
  readonly task: ClaimedTask
  readonly end: RunEnd
  /** What the handler threw. */
  readonly error?: unknown
  /** Why the task is handed back. */
  readonly reason?: TaskReturnedEvent['reason']
}

/** The ends of a worker's runs on their way to the store, again and again until they arrive. */
export class Settlements {
  readonly #access: QueueAccess
  readonly #sent = new Set<Promise<unknown>>()
  readonly #retried = new Set<Promise<unknown>>()

  constructor(access: QueueAccess) {
    this.#access = access
  }

  add(ending: Ending): void {
    track(this.#sent, this.#settle(ending))
  }

  /** Resolves when each was sent, and answered or given up once. */
  async sent(): Promise<void> {
    while (this.#sent.size > 0) await Promise.all(this.#sent)
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    while (this.#sent.size + this.#retried.size > 0)
      await Promise.all([...this.#sent, ...this.#retried])
  }

  async #settle(ending: Ending): Promise<void> {
    try {
      this.#report(ending, await this.#send(ending))
    } catch (error) {
      const { task, end } = ending
      this.#tell(task, { type: 'settlement-delayed', end: end.state, error })
      track(this.#retried, this.#retry(ending))
    }
  }

  #send({ task, end }: Ending): Promise<SettleTaskReply> {
    const { store, queue } = this.#access
    return store.ask('settle', (port) => port.settle(queue, task.id, task.receipt, end))
  }

  /** Longer than the visibility: the end of a run is taken as long as nobody else has claimed the task. */
  async #retry(ending: Ending): Promise<void> {
    const reply = await retryUntil(performance.now() + SETTLE_FOR_MS, () => this.#send(ending))
    const { task, end } = ending
    this.#tell(task, { type: 'settlement-retried', end: end.state, outcome: reply ?? 'lost' })
    if (reply) this.#report(ending, reply)
  }

  #report({ task, end, error, reason = 'closed' }: Ending, reply: SettleTaskReply): void {
    if (reply === 'stale' || (reply === 'gone' && end.state !== 'done'))
      this.#tell(task, { type: 'stale', end: end.state })
    else if (end.state === 'done') this.#tell(task, { type: 'ack', found: reply === 'settled' })
    else if (end.state === 'retry') this.#tell(task, { type: 'retry', delayMs: end.delayMs, error })
    else if (end.state === 'dead') this.#tell(task, { type: 'dead', error: end.error })
    else this.#tell(task, { type: 'returned', reason, attempted: end.attempted })
  }

  #tell(task: ClaimedTask, news: News): void {
    emit('sluice:delay', () => ({ ...news, ...about(this.#access.queue, task) }) as DelayEvent)
  }
}

/** Of each kind of event, what is its own. */
type News = DelayEvent extends infer Event
  ? Event extends DelayEvent
    ? Omit<Event, keyof ReturnType<typeof about>>
    : never
  : never

/** Whom an event is about. */
export function about(
  queue: string,
  { id, attempt, fence }: ClaimedTask | ExpiredTask,
): Pick<DelayEvent, 'queue' | 'idHash' | 'attempt' | 'fence'> {
  return { queue, idHash: hashKey(id), attempt, fence }
}

const SETTLE_FOR_MS = 600_000

function track(underWay: Set<Promise<unknown>>, promise: Promise<unknown>): void {
  underWay.add(promise)
  void promise.finally(() => underWay.delete(promise))
}
