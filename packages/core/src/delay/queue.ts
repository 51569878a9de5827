import { processStore } from '../memory-store.ts'
import {
  checkOptions,
  duration,
  integer,
  MAX_AMOUNT,
  type Rule,
  required,
  withDefaults,
} from '../options.ts'
import type { Store } from '../store.ts'
import { type Backoff, backoffRule } from './backoff.ts'
import { StoredDelayQueue } from './stored-queue.ts'
import type { DeadTask, QueueStats, TaskHandler } from './task.ts'
import type { Worker, WorkOptions } from './worker.ts'

/** When a task is due: a delay in whole milliseconds, from 0 to ten years, or a moment; one in the past is now. */
export type ScheduleTime =
  | { readonly delayMs: number; readonly at?: undefined }
  | { readonly at: Date | number; readonly delayMs?: undefined }

/** Which dead tasks to tell of. */
export interface DeadPage {
  /** How many to skip, from the one that died first; default 0. */
  readonly offset?: number | undefined
  /** How many at most: 1 to 10,000; default 1,000. */
  readonly limit?: number | undefined
}

/** Tasks that are not run any more, until somebody decides. */
export interface DeadTasks<T> {
  /** The one that died first at first. @throws StoreUnavailableError (`store-unavailable`) */
  list(page?: DeadPage): Promise<readonly DeadTask<T>[]>
  /** Makes it due now, its attempts back at zero; false when it is not dead. @throws StoreUnavailableError (`store-unavailable`) */
  redrive(id: string): Promise<boolean>
  /** Forgets it; false when it is not dead. @throws StoreUnavailableError (`store-unavailable`) */
  discard(id: string): Promise<boolean>
}

/** Tasks that run later: at least once, and never by two at a time who both may write. Made by {@link createDelayQueue}. */
export interface DelayQueue<T> {
  readonly name: string
  /**
   * Schedules a task. `exists` when its id waits, runs or is dead already: nothing was changed. Schedule again when it
   * rejects: that changes nothing if it had happened, unless the task is done by then.
   *
   * @throws QueueFullError (`queue-full`), PayloadTooLargeError (`payload-too-large`), StoreUnavailableError
   * (`store-unavailable`: it may have happened), ConfigurationError (`configuration`) for a wrong id, time or payload.
   */
  schedule(id: string, payload: T, when: ScheduleTime): Promise<'scheduled' | 'exists'>
  /** Removes a task that waits: true. One that runs, is dead, or is not there: false. @throws StoreUnavailableError (`store-unavailable`) */
  cancel(id: string): Promise<boolean>
  /** @throws StoreUnavailableError (`store-unavailable`) */
  stats(): Promise<QueueStats>
  readonly dead: DeadTasks<T>
  /**
   * Runs tasks from now on, until it is closed; it keeps the process alive as long, as a server does.
   *
   * @throws ConfigurationError (`configuration`)
   */
  work(handler: TaskHandler<T>, options?: WorkOptions): Worker
}

/** Options of {@link createDelayQueue}. */
export interface DelayQueueOptions {
  /** A non-empty string: queues of one name on one store are one queue. */
  readonly name: string
  /** Default: a memory store that the whole process shares. */
  readonly store?: Store | undefined
  /** How long a silent worker keeps a task from others, in milliseconds from 100; renewed at a third; default 30,000. */
  readonly visibilityMs?: number | undefined
  /** Runs of a task at most, failed, lost and silent ones included: 1 to 1,000,000; default 5. Then it is dead. */
  readonly maxAttempts?: number | undefined
  /** How long to wait after a failed attempt; default doubling pauses of at most 1 s, 2 s, … 5 min, with full jitter. */
  readonly backoff?: Backoff | undefined
  /** Tasks that may wait, scheduled and due, from 1; retries and redrives are never refused. Default: any number. */
  readonly maxPending?: number | undefined
  /** The longest payload, in bytes of its JSON: 1 to 1,048,576; default 65,536. */
  readonly maxPayloadBytes?: number | undefined
  /** How often a worker asks although nothing told it to, in milliseconds from 10; default 5,000. */
  readonly sweepMs?: number | undefined
  /** Deadline of a store call in milliseconds: 1 to 60,000; default 500. */
  readonly timeoutMs?: number | undefined
}

/**
 * A queue of tasks that run later, at least once: a task that was scheduled is run until a handler is done with it, or
 * dead and kept. A handler can be run again after it did its work (its process died, say), so let the database check
 * `task.id` or `task.fence`.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or out of range.
 * @example
 * ```ts
 * import { createDelayQueue } from '@sluice/core'
 *
 * const expiry = createDelayQueue<{ orderId: string }>({ name: 'order-expiry', maxAttempts: 5 })
 * await expiry.schedule('order-7', { orderId: '7' }, { delayMs: 15 * 60_000 })
 * await expiry.cancel('order-7') // paid in time
 *
 * const worker = expiry.work(async (task) => console.log(`${task.payload.orderId} was not paid`))
 * await worker.close()
 * ```
 */
export function createDelayQueue<T = unknown>(options: DelayQueueOptions): DelayQueue<T> {
  const checked = checkOptions('createDelayQueue', options, rules)
  const settings = withDefaults(checked, defaults)
  return new StoredDelayQueue<T>(checked.store ?? processStore(), settings)
}

const rules: Readonly<Record<keyof DelayQueueOptions, Rule>> = {
  name: required({
    expected: 'a non-empty string',
    accepts: (value) => typeof value === 'string' && value !== '',
  }),
  store: {
    expected: 'a store, as made by memoryStore() or redisStore()',
    accepts: (value) => typeof value === 'object' && value !== null && 'delay' in value,
  },
  visibilityMs: duration(100),
  maxAttempts: integer(1, 1_000_000),
  backoff: backoffRule,
  maxPending: integer(1, MAX_AMOUNT),
  maxPayloadBytes: integer(1, 1_048_576),
  sweepMs: duration(10),
  timeoutMs: integer(1, 60_000, ' milliseconds'),
}

const defaults = {
  visibilityMs: 30_000,
  maxAttempts: 5,
  backoff: {} as Backoff,
  maxPayloadBytes: 65_536,
  sweepMs: 5000,
  timeoutMs: 500,
}
