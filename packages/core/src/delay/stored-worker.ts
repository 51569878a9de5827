import { emit } from '../events.ts'
import { OneListener } from '../one-listener.ts'
import { checkOptions, duration, integer } from '../options.ts'
import { Alarm } from './alarm.ts'
import { Run, type RunContext } from './run.ts'
import { about, type QueueAccess, Settlements } from './settlements.ts'
import type { ClaimedTask, Hints, TaskClaimReply } from './store.ts'
import { type TaskHandler, VISIBILITY_EXPIRED } from './task.ts'
import type { CloseOptions, Worker, WorkOptions } from './worker.ts'

/** What a queue tells its workers. */
export interface WorkerSettings extends QueueAccess {
  readonly visibilityMs: number
  readonly maxAttempts: number
  readonly backoffMs: (attempt: number) => number
  readonly sweepMs: number
}

/** Claims whenever it has room and a task may be due: one claim at a time. */
export class StoredWorker<T> implements Worker {
  readonly #settings: WorkerSettings
  readonly #handler: TaskHandler<T>
  readonly #concurrency: number
  readonly #context: RunContext
  readonly #running = new Map<Run<T>, Promise<void>>()
  readonly #hints: Hints
  readonly #alarm = new Alarm(() => this.#turn())
  readonly #stopListening: (() => void) | undefined
  /** An open worker keeps its process, like a server that listens. */
  readonly #hold: NodeJS.Timeout
  readonly #graceOver: Promise<void>
  readonly #grace: Alarm
  #graceEndsAt = Number.POSITIVE_INFINITY
  /** When a task may be due, by the monotonic clock. */
  #claimAt = 0
  #claiming: Promise<void> | undefined
  #failures = 0
  #turnIsNear = false
  #closed: Promise<void> | undefined

  constructor(settings: WorkerSettings, handler: TaskHandler<T>, options: WorkOptions) {
    const { concurrency = 10, signal } = checkOptions('work', options, workRules)
    let endGrace = (): void => {}
    this.#graceOver = new Promise((resolve) => {
      endGrace = resolve
    })
    this.#grace = new Alarm(() => endGrace())
    this.#settings = settings
    this.#handler = handler
    this.#concurrency = concurrency
    this.#context = { ...settings, settlements: new Settlements(settings) }
    this.#hints = settings.store.raw.watch(settings.queue, (dueInMs) => this.#expect(dueInMs))
    this.#hold = setInterval(() => {}, LONGEST_TIMER_MS)
    // What was scheduled before hints can arrive told nobody.
    void this.#hints.ready.then(() => this.#expect(0))
    if (signal?.aborted) void this.close()
    else this.#stopListening = signal && aborts.add(signal, () => void this.close())
    this.#turnSoon()
  }

  close(options: CloseOptions = {}): Promise<void> {
    const { graceMs = 10_000 } = checkOptions('close', options, closeRules)
    this.#graceEndsAt = Math.min(this.#graceEndsAt, performance.now() + graceMs)
    this.#grace.set(this.#graceEndsAt)
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** A task may be due in so long. */
  #expect(dueInMs: number): void {
    this.#claimAt = Math.min(this.#claimAt, performance.now() + dueInMs)
    this.#turn()
  }

  /** Handlers that end in one turn of the event loop make room for one claim. */
  #turnSoon(): void {
    if (this.#turnIsNear) return
    this.#turnIsNear = true
    setImmediate(() => {
      this.#turnIsNear = false
      this.#turn()
    })
  }

  #turn(): void {
    if (this.#isClosed || this.#claiming !== undefined) return
    const room = this.#concurrency - this.#running.size
    if (room === 0) this.#alarm.clear()
    else if (performance.now() < this.#claimAt) this.#alarm.set(this.#claimAt)
    else
      this.#claiming = this.#claim(Math.min(room, this.#largestClaim)).finally(() => {
        this.#claiming = undefined
        this.#turn()
      })
  }

  /** A reply of many long payloads may be what came too late: then ask for less, and get at least that. */
  get #largestClaim(): number {
    return Math.max(1, Math.floor(LARGEST_CLAIM / 2 ** this.#failures))
  }

  async #claim(max: number): Promise<void> {
    const startedAt = performance.now()
    this.#claimAt = startedAt + this.#settings.sweepMs
    try {
      const reply = await this.#ask(max)
      this.#failures = 0
      this.#claimAt = Math.min(this.#claimAt, performance.now() + (reply.nextMs ?? Infinity))
      this.#receive(reply, startedAt)
    } catch {
      // The store's channel tells of it. Those who failed together do not come back together.
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS)
      const soon = performance.now() + pauseMs * (0.5 + Math.random() / 2)
      this.#claimAt = Math.min(startedAt + this.#settings.sweepMs, soon)
    }
  }

  /** In a process that stood still, or was busy, others may be running the tasks by now. */
  #receive(reply: TaskClaimReply, startedAt: number): void {
    this.#reportExpired(reply)
    const usableUntil = startedAt + USABLE_PART * this.#settings.visibilityMs
    for (const task of reply.tasks)
      if (this.#isClosed) this.#return(task, 'closed')
      else if (performance.now() >= usableUntil) this.#return(task, 'late')
      else this.#start(task, startedAt)
  }

  async #ask(max: number): Promise<TaskClaimReply> {
    const { store, queue, visibilityMs, maxAttempts } = this.#settings
    let underWay: Promise<TaskClaimReply> | undefined
    try {
      return await store.ask('claim', (port) => {
        underWay = port.claim(queue, { max, visibilityMs, maxAttempts })
        return underWay
      })
    } catch (error) {
      underWay?.then((late) => this.#returnLate(late)).catch(() => {})
      throw error
    }
  }

  /** Nobody knows how much of their visibility is left: let others run them, or this worker, but anew. */
  #returnLate(late: TaskClaimReply): void {
    this.#reportExpired(late)
    for (const task of late.tasks) this.#return(task, 'late')
  }

  #return(task: ClaimedTask, reason: 'closed' | 'late'): void {
    const end = { state: 'returned', attempted: false } as const
    this.#context.settlements.add({ task, end, reason })
  }

  #start(task: ClaimedTask, startedAt: number): void {
    const run = new Run<T>(this.#context, task, startedAt)
    const ended = run.work(this.#handler).then(() => {
      this.#running.delete(run)
      this.#turnSoon()
    })
    this.#running.set(run, ended)
  }

  #reportExpired({ expired }: TaskClaimReply): void {
    for (const task of expired)
      emit('sluice:delay', () => ({
        type: 'dead',
        ...about(this.#settings.queue, task),
        error: VISIBILITY_EXPIRED,
      }))
  }

  async #shutDown(): Promise<void> {
    this.#alarm.clear()
    this.#hints.close()
    this.#stopListening?.()
    await Promise.race([this.#drained(), this.#graceOver])
    for (const run of this.#running.keys()) run.handBack()
    // A claim under way is answered or given up within the deadline.
    await this.#claiming
    await this.#context.settlements.sent()
    this.#grace.clear()
    clearInterval(this.#hold)
  }

  async #drained(): Promise<void> {
    await this.#claiming
    await Promise.all(this.#running.values())
    await this.#context.settlements.settled()
  }
}

const aborts = new OneListener<AbortSignal>((signal, heard) => {
  signal.addEventListener('abort', heard)
  return () => signal.removeEventListener('abort', heard)
})

const workRules = {
  concurrency: integer(1, 10_000),
  signal: {
    expected: 'an AbortSignal',
    accepts: (value: unknown) => value instanceof AbortSignal,
  },
}
const closeRules = { graceMs: duration(0) }

/** Of a visibility: after it, a run counts as lost. Twin: resilience/renewal.ts */
const USABLE_PART = 0.9
/** More would make one long reply, and one long script. */
const LARGEST_CLAIM = 100
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1000
const LONGEST_TIMER_MS = 2_147_483_647
