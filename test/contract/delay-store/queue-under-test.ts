import type {
  ClaimedTask,
  DelayStore,
  Due,
  NewTask,
  RunEnd,
  ScheduleReply,
  SettleTaskReply,
  TaskClaim,
  TaskClaimReply,
} from '@sluice/core'

/** A store under test, and its clock. */
export interface DelayPlace extends AsyncDisposable {
  readonly store: DelayStore
  advance(ms: number): Promise<void>
}

export const VISIBILITY_MS = 30_000
export const MAX_ATTEMPTS = 3
export const error = { name: 'RangeError', message: 'no such ördér' }

export const done: RunEnd = { state: 'done' }
export const retry: RunEnd = { state: 'retry', delayMs: 10_000 }
export const dead: RunEnd = { state: 'dead', error }
export const returned: RunEnd = { state: 'returned', attempted: true }
export const unseen: RunEnd = { state: 'returned', attempted: false }
export const ends: readonly RunEnd[] = [done, retry, dead, returned, unseen]

/** A fresh queue for each test, in the store under test. */
export class QueueUnderTest {
  name = 'queue'
  #place: DelayPlace | undefined
  #queues = 0

  get store(): DelayStore {
    if (!this.#place) throw new Error('not open')
    return this.#place.store
  }

  open(place: DelayPlace): void {
    this.#place = place
  }

  renew(): void {
    this.name = `queue-${++this.#queues}`
  }

  async advance(ms: number): Promise<void> {
    await this.#place?.advance(ms)
  }

  async close(): Promise<void> {
    await this.#place?.[Symbol.asyncDispose]()
  }

  schedule(id: string, delayMs = 0, changes: Partial<NewTask> = {}): Promise<ScheduleReply> {
    const task = { id, payload: JSON.stringify(id), due: { delayMs }, ...changes }
    return this.store.schedule(this.name, task)
  }

  scheduleAt(id: string, at: number): Promise<ScheduleReply> {
    const due: Due = { at }
    return this.schedule(id, 0, { due })
  }

  claim(max = 10, changes: Partial<TaskClaim> = {}): Promise<TaskClaimReply> {
    const claim = { max, visibilityMs: VISIBILITY_MS, maxAttempts: MAX_ATTEMPTS, ...changes }
    return this.store.claim(this.name, claim)
  }

  /** Claims all that can be claimed, and names it. */
  async ids(): Promise<string[]> {
    return (await this.claim(100)).tasks.map(({ id }) => id)
  }

  /** Claims one task, which must be there. */
  async one(): Promise<ClaimedTask> {
    const [task] = (await this.claim(1)).tasks
    if (!task) throw new Error('nothing was due')
    return task
  }

  settle(task: ClaimedTask, end: RunEnd): Promise<SettleTaskReply> {
    return this.store.settle(this.name, task.id, task.receipt, end)
  }

  extend(task: ClaimedTask): Promise<boolean> {
    return this.store.extend(this.name, task.id, task.receipt, VISIBILITY_MS)
  }

  cancel(id: string): Promise<boolean> {
    return this.store.cancel(this.name, id)
  }

  async stats() {
    const { oldestDueMs, ...counts } = await this.store.stats(this.name)
    return { ...counts, oldestDueMs: Math.floor(oldestDueMs / 1000) * 1000 }
  }

  dead() {
    return this.store.dead(this.name, 0, 100)
  }

  /** What time it is in the store: when a task is due that is due at once. */
  async epochMs(): Promise<number> {
    const clock = { id: 'clock', payload: '0', due: { delayMs: 0 } }
    await this.store.schedule('clock', clock)
    const [task] = (await this.store.claim('clock', { max: 1, visibilityMs: 1, maxAttempts: 9 }))
      .tasks
    if (!task) throw new Error('a clock that stands still')
    await this.store.settle('clock', 'clock', task.receipt, done)
    return task.dueAt
  }
}

/** A little less is right too: real time goes on during a test. */
export function near(expectedMs: number): (actualMs: unknown) => boolean {
  return (actualMs) => Number(actualMs) <= expectedMs && Number(actualMs) > expectedMs - 3000
}

/** A little more is right too. */
export function soonAfter(expectedMs: number): (actualMs: unknown) => boolean {
  return (actualMs) => Number(actualMs) >= expectedMs && Number(actualMs) < expectedMs + 3000
}
