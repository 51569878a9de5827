import { type Expiring, ExpiryHeap } from '../expiry-heap.ts'
import type {
  ClaimedTask,
  ExpiredTask,
  NewTask,
  RunEnd,
  ScheduleReply,
  SettleTaskReply,
  StoredDeadTask,
  TaskClaim,
  TaskClaimReply,
} from './store.ts'
import { type QueueStats, type TaskError, VISIBILITY_EXPIRED } from './task.ts'

/** The clocks of a queue in this process. */
export interface QueueClock {
  /** Monotonic, in whole milliseconds. */
  now(): number
  /** A higher number each time. */
  mintFence(): number
}

/** The tasks of one queue; one call is one step, since nothing in it waits. Twin of lua/delay/. */
export class MemoryQueue {
  readonly #clock: QueueClock
  readonly #tasks = new Map<string, Entry>()
  /** By due time. */
  readonly #waiting = new ExpiryHeap<Entry>()
  /** By the end of their visibility. */
  readonly #running = new ExpiryHeap<Entry>()
  readonly #dead = new Set<Entry>()
  readonly #listeners = new Set<(dueInMs: number) => void>()
  #waitingCount = 0
  #receipts = 0

  constructor(clock: QueueClock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#tasks.size
  }

  has(id: string): boolean {
    return this.#tasks.has(id)
  }

  schedule({ id, payload, due, maxPending }: NewTask): ScheduleReply {
    const now = this.#clock.now()
    const dueAt = 'at' in due ? Math.max(now, now + due.at - Date.now()) : now + due.delayMs
    if (dueAt > now + LONGEST_MS) return 'too-late'
    if (this.#tasks.has(id)) return 'exists'
    if (maxPending !== undefined && this.#waitingCount >= maxPending) return 'full'
    const nothing = { attempt: 0, fence: 0, receipt: undefined, error: undefined, diedAt: 0 }
    const entry = { id, payload, dueAt, ...nothing, state: 'waiting', position: 0, expiresAt: 0 }
    this.#tasks.set(id, entry as Entry)
    this.#wait(entry as Entry, dueAt)
    return 'scheduled'
  }

  cancel(id: string): boolean {
    const entry = this.#tasks.get(id)
    if (entry?.state !== 'waiting') return false
    this.#unwait(entry)
    return this.#tasks.delete(id)
  }

  claim({ max, visibilityMs, maxAttempts }: TaskClaim): TaskClaimReply {
    const now = this.#clock.now()
    const tasks: ClaimedTask[] = []
    const expired: ExpiredTask[] = []
    const overdue = due(this.#running, now, max)
    for (const entry of overdue) {
      if (entry.attempt < maxAttempts) tasks.push(this.#take(entry, now, visibilityMs))
      else {
        this.#bury(entry, VISIBILITY_EXPIRED)
        expired.push({ id: entry.id, attempt: entry.attempt, fence: entry.fence })
      }
    }
    for (const entry of due(this.#waiting, now, max - tasks.length)) {
      this.#waitingCount--
      tasks.push(this.#take(entry, now, visibilityMs))
    }
    const next = Math.min(soonest(this.#waiting), soonest(this.#running))
    return { tasks, expired, nextMs: next === Infinity ? undefined : Math.max(0, next - now) }
  }

  settle(id: string, receipt: string, end: RunEnd): SettleTaskReply {
    const entry = this.#tasks.get(id)
    if (!entry) return 'gone'
    if (entry.receipt !== receipt) return 'stale'
    if (entry.state !== 'running') return isRepeated(entry.state, end) ? 'settled' : 'stale'
    this.#running.remove(entry)
    const now = this.#clock.now()
    if (end.state === 'done') this.#tasks.delete(id)
    else if (end.state === 'dead') this.#bury(entry, end.error)
    else if (end.state === 'retry') this.#wait(entry, now + end.delayMs)
    else {
      if (!end.attempted) entry.attempt--
      this.#wait(entry, Math.min(entry.dueAt, now))
    }
    return 'settled'
  }

  extend(id: string, receipt: string, visibilityMs: number): boolean {
    const entry = this.#tasks.get(id)
    if (entry?.state !== 'running' || entry.receipt !== receipt) return false
    this.#running.remove(entry)
    this.#hide(entry, visibilityMs)
    return true
  }

  stats(): QueueStats {
    const now = this.#clock.now()
    const counts = { scheduled: 0, due: 0, processing: 0, dead: this.#dead.size }
    for (const { state, expiresAt } of this.#tasks.values()) {
      if (state === 'dead') continue
      if (expiresAt <= now) counts.due++
      else if (state === 'waiting') counts.scheduled++
      else counts.processing++
    }
    const oldest = Math.min(soonest(this.#waiting), soonest(this.#running))
    return { ...counts, oldestDueMs: oldest === Infinity ? 0 : Math.max(0, now - oldest) }
  }

  dead(offset: number, limit: number): readonly StoredDeadTask[] {
    const now = this.#clock.now()
    return [...this.#dead].slice(offset, offset + limit).map((entry) => ({
      id: entry.id,
      payload: entry.payload,
      attempts: entry.attempt,
      error: entry.error as TaskError,
      dueAt: wallClock(entry.dueAt, now),
      diedAt: wallClock(entry.diedAt, now),
    }))
  }

  redrive(id: string): boolean {
    const entry = this.#tasks.get(id)
    if (!entry || !this.#dead.delete(entry)) return false
    const dueAt = this.#clock.now()
    Object.assign(entry, { attempt: 0, receipt: undefined, error: undefined, dueAt })
    this.#wait(entry, dueAt)
    return true
  }

  discard(id: string): boolean {
    const entry = this.#tasks.get(id)
    return entry !== undefined && this.#dead.delete(entry) && this.#tasks.delete(id)
  }

  watch(onEarlier: (dueInMs: number) => void): () => void {
    // A function of its own, so that one that watches twice is told twice.
    const listener = (dueInMs: number) => onEarlier(dueInMs)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #take(entry: Entry, now: number, visibilityMs: number): ClaimedTask {
    const lateMs = now - entry.expiresAt
    entry.state = 'running'
    entry.attempt++
    entry.fence = this.#clock.mintFence()
    entry.receipt = String(++this.#receipts)
    this.#hide(entry, visibilityMs)
    const { id, payload, attempt, fence, receipt } = entry
    return { id, payload, attempt, fence, receipt, dueAt: wallClock(entry.dueAt, now), lateMs }
  }

  #hide(entry: Entry, visibilityMs: number): void {
    entry.expiresAt = this.#clock.now() + visibilityMs
    this.#running.add(entry)
  }

  #bury(entry: Entry, error: TaskError): void {
    Object.assign(entry, { state: 'dead', error, diedAt: this.#clock.now() })
    this.#dead.add(entry)
  }

  #wait(entry: Entry, dueAt: number): void {
    entry.state = 'waiting'
    entry.expiresAt = dueAt
    this.#waiting.add(entry)
    this.#waitingCount++
    if (this.#waiting.soonest !== entry) return
    const dueInMs = Math.max(0, dueAt - this.#clock.now())
    for (const listener of this.#listeners) queueMicrotask(() => listener(dueInMs))
  }

  #unwait(entry: Entry): void {
    this.#waiting.remove(entry)
    this.#waitingCount--
  }
}

interface Entry extends Expiring {
  readonly id: string
  readonly payload: string
  state: 'waiting' | 'running' | 'dead'
  attempt: number
  fence: number
  receipt: string | undefined
  dueAt: number
  diedAt: number
  error: TaskError | undefined
}

/** Takes out what has come by `now`, soonest first. */
function due(heap: ExpiryHeap<Entry>, now: number, limit: number): readonly Entry[] {
  const taken: Entry[] = []
  while (taken.length < limit && soonest(heap) <= now) {
    const entry = heap.soonest as Entry
    heap.remove(entry)
    taken.push(entry)
  }
  return taken
}

function soonest(heap: ExpiryHeap<Entry>): number {
  return heap.soonest?.expiresAt ?? Infinity
}

/** As in lua/delay/settle.lua. */
function isRepeated(state: Entry['state'], end: RunEnd): boolean {
  return state === 'dead' ? end.state === 'dead' : end.state === 'retry' || end.state === 'returned'
}

function wallClock(moment: number, now: number): number {
  return Math.round(Date.now() - (now - moment))
}

const LONGEST_MS = 3_653 * 86_400_000
