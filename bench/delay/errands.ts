import { setTimeout as pause } from 'node:timers/promises'
import { payloadOf, type Tasks, type TaskWorker } from './tasks.ts'

/** Tasks to schedule and to run. */
export interface Errand {
  /** When each is due, in milliseconds from the first one. */
  readonly offsetsMs: readonly number[]
  /** How long before the first one the scheduling begins. */
  readonly leadMs: number
  readonly concurrency: number
}

export interface Ran {
  /** Tasks that were not run, and runs of tasks that had run before. */
  readonly failed: number
  readonly elapsedMs: number
  /** By how much each was run after it was due. */
  readonly latenessMs: readonly number[]
  /** How long scheduling took; if longer than the lead, tasks were late before they were scheduled. */
  readonly fillMs: number
}

/** Runs a backlog: all tasks are due before the worker starts. The time is that of the worker alone. */
export async function drain(tasks: Tasks, order: () => string, errand: Errand): Promise<Ran> {
  const log = new Log()
  const worker = await tasks.worker(errand.concurrency, log.note)
  const fillMs = await fill(tasks, order, errand)
  await pause(Math.max(...errand.offsetsMs) + DUE_MS)
  const startedMs = performance.now()
  worker.start()
  await finish(worker, errand)
  return log.ran(errand, { elapsedMs: performance.now() - startedMs, fillMs })
}

/** Runs tasks as they become due, by a worker that waits for them. */
export async function onTime(tasks: Tasks, order: () => string, errand: Errand): Promise<Ran> {
  const log = new Log()
  const worker = await tasks.worker(errand.concurrency, log.note)
  worker.start()
  const fillMs = await fill(tasks, order, errand)
  await finish(worker, errand)
  return log.ran(errand, { elapsedMs: log.lastAt - log.firstDueAt, fillMs })
}

/** What a worker has run. */
class Log {
  readonly #seen = new Set<string>()
  readonly #latenessMs: number[] = []
  firstDueAt = Number.POSITIVE_INFINITY
  lastAt = 0

  readonly note = ({ id, dueAt }: { readonly id: string; readonly dueAt: number }): void => {
    const at = performance.timeOrigin + performance.now()
    this.#seen.add(id)
    this.#latenessMs.push(at - dueAt)
    this.firstDueAt = Math.min(this.firstDueAt, dueAt)
    this.lastAt = at
  }

  ran({ offsetsMs }: Errand, times: Pick<Ran, 'elapsedMs' | 'fillMs'>): Ran {
    const missing = offsetsMs.length - this.#seen.size
    const repeated = this.#latenessMs.length - this.#seen.size
    return { ...times, failed: missing + repeated, latenessMs: this.#latenessMs }
  }
}

/** Schedules everything, some at a time as an application would. */
async function fill(tasks: Tasks, order: () => string, errand: Errand): Promise<number> {
  const startedMs = performance.now()
  const firstDueMs = startedMs + errand.leadMs
  const waiting = errand.offsetsMs.values()
  const schedule = async () => {
    for (const offsetMs of waiting) {
      const id = order()
      const delayMs = Math.max(1, Math.round(firstDueMs + offsetMs - performance.now()))
      await tasks.schedule(id, payloadOf(id), delayMs)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, schedule))
  return performance.now() - startedMs
}

async function finish(worker: TaskWorker, { offsetsMs }: Errand): Promise<void> {
  const late = pause(PATIENCE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`not all of ${offsetsMs.length} tasks were run`)
  })
  await Promise.race([worker.acknowledged(offsetsMs.length), late])
  await worker.close()
}

const IN_FLIGHT = 50
/** Longer than the delay of the last task that was scheduled. */
const DUE_MS = 5
const PATIENCE_MS = 30_000
