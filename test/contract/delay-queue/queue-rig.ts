import { randomUUID } from 'node:crypto'
import {
  createDelayQueue,
  type DelayQueue,
  type DelayQueueOptions,
  type Store,
  type TaskHandler,
  type Worker,
  type WorkOptions,
} from '@sluice/core'
import { eventually } from '../../support/eventually.ts'

/** A store under test, by the clock on the wall. */
export interface QueuePlace extends AsyncDisposable {
  readonly store: Store
}

export const HOUR_MS = 3_600_000

/** A fresh queue for each test, in the store under test. */
export class QueueRig {
  name = 'queue'
  #place: QueuePlace | undefined
  readonly #workers: Worker[] = []

  get store(): Store {
    if (!this.#place) throw new Error('not open')
    return this.#place.store
  }

  open(place: QueuePlace): void {
    this.#place = place
  }

  renew(): void {
    this.name = `queue ${randomUUID()}`
  }

  async closeWorkers(): Promise<void> {
    for (const worker of this.#workers.splice(0)) await worker.close({ graceMs: 0 })
  }

  async close(): Promise<void> {
    await this.#place?.[Symbol.asyncDispose]()
  }

  /** Sweeps play no part. */
  queue(options: Partial<DelayQueueOptions> = {}): DelayQueue<unknown> {
    const rare = { sweepMs: HOUR_MS, timeoutMs: 10_000, backoff: () => 0 }
    return createDelayQueue({ name: this.name, store: this.store, ...rare, ...options })
  }

  /** Closed behind the test. */
  work(at: DelayQueue<unknown>, handler: TaskHandler<unknown>, options?: WorkOptions): Worker {
    const worker = at.work(handler, options)
    this.#workers.push(worker)
    return worker
  }

  /** A worker that has run one task, and sleeps now. `busy`: tasks that others are running. */
  async idleWorker(
    at: DelayQueue<unknown>,
    handler: TaskHandler<unknown>,
    busy = 0,
  ): Promise<void> {
    let ready = (): void => {}
    const isReady = new Promise<void>((resolve) => {
      ready = resolve
    })
    this.work(at, (task) => (task.id === 'idle' ? ready() : handler(task)))
    await at.schedule('idle', 0, { delayMs: 0 })
    await isReady
    await eventually(async () => (await at.stats()).processing === busy)
  }
}
