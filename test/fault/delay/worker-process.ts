import type { DelayEvent, DelayQueueOptions } from '@sluice/core'
import { Child, type ChildOptions } from '../../support/child.ts'
import type { Journal } from './journal.ts'

/** What a task is to do to its worker. */
export type Job =
  | { readonly do: 'take'; readonly ms: number }
  | { readonly do: 'fail' }
  /** Kills the process. */
  | { readonly do: 'die' }
  /** Goes on until the parent says `finish`. */
  | { readonly do: 'hold' }

/** What `children/worker.ts` can be told to do. */
export type Order =
  | { readonly do: 'work' | 'finish' }
  | { readonly do: 'schedule'; readonly id: string; readonly job: Job; readonly delayMs: number }
  | { readonly do: 'close'; readonly graceMs: number }

/** One thing that a worker did: that a handler began or came to its end, or an event. */
export interface Line {
  readonly pid: number
  readonly type: 'run' | 'finished' | DelayEvent['type']
  readonly idHash: string
  readonly attempt: number
  readonly fence: number
  /** Of an ack. */
  readonly found?: boolean
}

/** The same for all workers of a test, as JSON. */
export type Setup = Omit<DelayQueueOptions, 'store' | 'backoff'> & {
  readonly backoff?: { readonly baseMs: number; readonly maxMs: number }
  readonly concurrency: number
}

/** A process that runs tasks, and may die or stand still over it. */
export class WorkerProcess implements AsyncDisposable {
  readonly #child: Child

  private constructor(child: Child) {
    this.#child = child
  }

  /** It claims nothing until it is told to `work`. */
  static async start(
    port: number,
    journal: Journal,
    setup: Setup,
    options: Pick<ChildOptions, 'clockOffsetMs'> = {},
  ): Promise<WorkerProcess> {
    const file = new URL('children/worker.ts', import.meta.url)
    const args = [String(port), journal.file, JSON.stringify(setup)]
    return new WorkerProcess(await Child.start(file, { args, ...options }))
  }

  get pid(): number {
    return this.#child.pid
  }

  work(): Promise<void> {
    return this.#ask({ do: 'work' })
  }

  finish(): Promise<void> {
    return this.#ask({ do: 'finish' })
  }

  schedule(id: string, job: Job, delayMs: number): Promise<string> {
    return this.#ask({ do: 'schedule', id, job, delayMs })
  }

  close(graceMs: number): Promise<void> {
    return this.#ask({ do: 'close', graceMs })
  }

  kill(): Promise<void> {
    return this.#child.kill()
  }

  pause(): void {
    this.#child.pause()
  }

  resume(): void {
    this.#child.resume()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]()
  }

  #ask<T>(order: Order): Promise<T> {
    return this.#child.ask<T>(order)
  }
}
