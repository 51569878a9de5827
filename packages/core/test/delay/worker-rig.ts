import { afterEach, beforeEach, vi } from 'vitest'
import {
  createDelayQueue,
  type DelayEvent,
  type DelayQueue,
  type DelayQueueOptions,
  type Store,
  subscribe,
  type TaskHandler,
  type Worker,
  type WorkOptions,
} from '../../src/index.ts'

export const HOUR_MS = 3_600_000

export interface WorkerRig {
  /** Of the test that runs. */
  readonly events: readonly DelayEvent[]
  types(): readonly string[]
  /** Closed behind the test. */
  work(queue: DelayQueue<unknown>, handler: TaskHandler<unknown>, options?: WorkOptions): Worker
}

/** For all tests of a file. */
export function workerRig(): WorkerRig {
  const events: DelayEvent[] = []
  const workers: Worker[] = []
  let stop = (): void => {}
  beforeEach(() => {
    events.length = 0
    stop = subscribe('sluice:delay', (event) => events.push(event))
  })
  afterEach(async () => {
    vi.useRealTimers()
    stop()
    for (const worker of workers.splice(0)) await worker.close({ graceMs: 0 })
  })
  return {
    events,
    types: () => events.map(({ type }) => type),
    work(queue, handler, options) {
      const worker = queue.work(handler, options)
      workers.push(worker)
      return worker
    },
  }
}

/** Sweeps play no part unless a test says so. */
export function queueOn(
  store: Store,
  options: Partial<DelayQueueOptions> = {},
): DelayQueue<unknown> {
  const rare = { sweepMs: HOUR_MS, timeoutMs: 10_000, backoff: () => 0 }
  return createDelayQueue({ name: 'queue', store, ...rare, ...options })
}

/** For what announces itself by no event. */
export function until(check: () => boolean): Promise<unknown> {
  return vi.waitUntil(check, { timeout: 10_000, interval: 5 })
}
