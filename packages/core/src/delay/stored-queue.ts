import { ConfigurationError, QueueFullError } from '../errors.ts'
import { checkOptions, duration, integer } from '../options.ts'
import { GuardedPort } from '../resilience/guarded-port.ts'
import type { Store } from '../store.ts'
import { type Backoff, backoffOf } from './backoff.ts'
import { decodePayload, encodePayload } from './payload.ts'
import type { DeadPage, DeadTasks, DelayQueue, ScheduleTime } from './queue.ts'
import type { Due } from './store.ts'
import { StoredWorker } from './stored-worker.ts'
import type { DeadTask, QueueStats, TaskHandler } from './task.ts'
import type { Worker, WorkOptions } from './worker.ts'

/** The options of a queue over their defaults. */
export interface QueueSettings {
  readonly name: string
  readonly visibilityMs: number
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly maxPending?: number | undefined
  readonly maxPayloadBytes: number
  readonly sweepMs: number
  readonly timeoutMs: number
}

/** What `createDelayQueue` makes. */
export class StoredDelayQueue<T> implements DelayQueue<T> {
  readonly name: string
  readonly dead: DeadTasks<T>
  readonly #store: GuardedPort<'delay'>
  readonly #settings: QueueSettings
  readonly #backoffMs: (attempt: number) => number

  constructor(store: Store, settings: QueueSettings) {
    this.name = settings.name
    this.#store = new GuardedPort(store, 'delay', settings.timeoutMs)
    this.#settings = settings
    this.#backoffMs = backoffOf('createDelayQueue', settings.backoff)
    this.dead = new StoredDeadTasks<T>(this.#store, settings.name)
  }

  async schedule(id: string, payload: T, when: ScheduleTime): Promise<'scheduled' | 'exists'> {
    const { maxPending, maxPayloadBytes } = this.#settings
    checkId('schedule', id)
    const due = dueOf(when)
    const task = { id, payload: encodePayload(payload, maxPayloadBytes), due, maxPending }
    const reply = await this.#store.ask('schedule', (store) => store.schedule(this.name, task))
    if (reply === 'full') throw new QueueFullError(this.name, maxPending ?? 0)
    if (reply === 'too-late')
      throw new ConfigurationError('schedule', 'at', when.at, 'at most ten years ahead')
    return reply
  }

  async cancel(id: string): Promise<boolean> {
    checkId('cancel', id)
    return this.#store.ask('cancel', (store) => store.cancel(this.name, id))
  }

  stats(): Promise<QueueStats> {
    return this.#store.ask('stats', (store) => store.stats(this.name))
  }

  work(handler: TaskHandler<T>, options: WorkOptions = {}): Worker {
    if (typeof handler !== 'function')
      throw new ConfigurationError('work', 'handler', handler, 'a function')
    const { name, visibilityMs, maxAttempts, sweepMs } = this.#settings
    const limits = { visibilityMs, maxAttempts, sweepMs, backoffMs: this.#backoffMs }
    return new StoredWorker({ store: this.#store, queue: name, ...limits }, handler, options)
  }
}

class StoredDeadTasks<T> implements DeadTasks<T> {
  readonly #store: GuardedPort<'delay'>
  readonly #queue: string

  constructor(store: GuardedPort<'delay'>, queue: string) {
    this.#store = store
    this.#queue = queue
  }

  async list(page: DeadPage = {}): Promise<readonly DeadTask<T>[]> {
    const { offset = 0, limit = 1000 } = checkOptions('dead.list', page, pageRules)
    const dead = await this.#store.ask('dead', (store) => store.dead(this.#queue, offset, limit))
    return dead.map((task) => ({
      ...task,
      payload: decodePayload(task.payload) as T,
      dueAt: new Date(task.dueAt),
      diedAt: new Date(task.diedAt),
    }))
  }

  async redrive(id: string): Promise<boolean> {
    checkId('redrive', id)
    return this.#store.ask('redrive', (store) => store.redrive(this.#queue, id))
  }

  async discard(id: string): Promise<boolean> {
    checkId('discard', id)
    return this.#store.ask('discard', (store) => store.discard(this.#queue, id))
  }
}

const pageRules = { offset: integer(0, Number.MAX_SAFE_INTEGER), limit: integer(1, 10_000) }

const delay = duration(0)

/** Lone surrogates would become one and the same character on their way to the store. */
function checkId(owner: string, id: unknown): void {
  const fits = typeof id === 'string' && id !== '' && id.length <= LONGEST_ID
  if (!fits || /\p{Surrogate}/u.test(id))
    throw new ConfigurationError(owner, 'id', id, `a string of 1 to ${LONGEST_ID} characters`)
}

const LONGEST_ID = 512

function dueOf(when: ScheduleTime): Due {
  const { delayMs, at, ...others } = Object(when) as ScheduleTime
  const isOne = (delayMs === undefined) !== (at === undefined)
  if (!isOne || Object.keys(others).length > 0)
    throw new ConfigurationError('schedule', 'when', when, 'either { delayMs } or { at }')
  if (delayMs !== undefined) {
    if (delay.accepts(delayMs)) return { delayMs }
    throw new ConfigurationError('schedule', 'delayMs', delayMs, delay.expected)
  }
  const moment = Number(at)
  if ((typeof at === 'number' || at instanceof Date) && Number.isSafeInteger(moment))
    return { at: moment }
  throw new ConfigurationError('schedule', 'at', at, 'a Date, or whole milliseconds of the epoch')
}
