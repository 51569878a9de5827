import type { QueueStats, TaskError } from './task.ts'

/** When a task is due: so many milliseconds from now, or at a moment of the epoch; one in the past is now. */
export type Due = { readonly delayMs: number } | { readonly at: number }

/** A task to be. */
export interface NewTask {
  readonly id: string
  /** JSON. */
  readonly payload: string
  readonly due: Due
  /** Tasks that may wait in the queue, this one included; without it, any number. */
  readonly maxPending?: number | undefined
}

/** `too-late`: due in more than ten years by the store's clock. */
export type ScheduleReply = 'scheduled' | 'exists' | 'full' | 'too-late'

/** What a worker asks for. */
export interface TaskClaim {
  /** Tasks at most: 1 to 100. */
  readonly max: number
  /** For how long they are hidden from others while nobody renews that. */
  readonly visibilityMs: number
  /** A task whose visibility ran out in this attempt dies. */
  readonly maxAttempts: number
}

/** A task that was given to a worker. */
export interface ClaimedTask {
  readonly id: string
  readonly payload: string
  /** Claims so far, this one included. */
  readonly attempt: number
  /** Higher than those of all earlier claims of tasks with this id. */
  readonly fence: number
  /** Of this claim alone: whoever knows it may end the run or prolong it. */
  readonly receipt: string
  /** When the task was to run first, in milliseconds of the epoch. */
  readonly dueAt: number
  /** For how long it could have been claimed. */
  readonly lateMs: number
}

/** A task that has just died, since its last attempt fell silent. */
export interface ExpiredTask {
  readonly id: string
  readonly attempt: number
  readonly fence: number
}

/** What a claim brought. */
export interface TaskClaimReply {
  readonly tasks: readonly ClaimedTask[]
  readonly expired: readonly ExpiredTask[]
  /** Milliseconds until a task is due or a visibility ends, if nothing happens before; undefined: never. */
  readonly nextMs: number | undefined
}

/**
 * What becomes of a task at the end of a run. `done`: it is gone. `retry`: it is due again in `delayMs`. `dead`: no more
 * runs. `returned`: it is due at once; if it was not `attempted`, since no handler saw it, this attempt does not count.
 */
export type RunEnd =
  | { readonly state: 'done' }
  | { readonly state: 'retry'; readonly delayMs: number }
  | { readonly state: 'dead'; readonly error: TaskError }
  | { readonly state: 'returned'; readonly attempted: boolean }

/**
 * `settled`: so it is. `gone`: the queue has no such task; a first `done` took effect, say, whose reply was lost.
 * `stale`: somebody else has claimed or ended it, or it died; nothing was changed.
 */
export type SettleTaskReply = 'settled' | 'gone' | 'stale'

/** A dead task, as it is stored. */
export interface StoredDeadTask {
  readonly id: string
  readonly payload: string
  readonly attempts: number
  readonly error: TaskError
  /** Milliseconds of the epoch, as is `diedAt`. */
  readonly dueAt: number
  readonly diedAt: number
}

/** Hints that a task came that is due before all others. */
export interface Hints {
  /** Resolved when hints can arrive, or will not arrive at all; never rejects. */
  readonly ready: Promise<void>
  close(): void
}

/**
 * Keeps the tasks of many queues. Ten methods fix the whole contract; `contract/delay-store.ts` tests it.
 *
 * - Every change is one atomic step, and the store's clock decides what is due and what has expired.
 * - An id is known once among the tasks of a queue that wait, run or are dead.
 * - A claim takes first what has expired, then what is due, each by its time. It counts the attempt.
 * - A run whose visibility has run out goes on being its claimant's until another claim takes the task: it can still
 *   be ended and prolonged by its receipt.
 * - The fences of an id rise strictly, also over its earlier lives and although the store's clock is set back.
 * - Repeating `settle` after it took effect changes nothing and does not say `stale`.
 * - Hints may get lost; a worker asks from time to time.
 * - A rejection means: it may or may not have happened.
 */
export interface DelayStore {
  /** True when a call leaves the process: such a store gets deadlines and a circuit. */
  readonly remote: boolean
  schedule(queue: string, task: NewTask): Promise<ScheduleReply>
  /** Removes a task that waits; false for any other. */
  cancel(queue: string, id: string): Promise<boolean>
  claim(queue: string, claim: TaskClaim): Promise<TaskClaimReply>
  settle(queue: string, id: string, receipt: string, end: RunEnd): Promise<SettleTaskReply>
  /** Whether the run was still its claimant's, and now is for another `visibilityMs`. */
  extend(queue: string, id: string, receipt: string, visibilityMs: number): Promise<boolean>
  stats(queue: string): Promise<QueueStats>
  /** Dead tasks, the one that died first at first. */
  dead(queue: string, offset: number, limit: number): Promise<readonly StoredDeadTask[]>
  /** Makes a dead task due now, its attempts back at zero; false for any other. */
  redrive(queue: string, id: string): Promise<boolean>
  /** Removes a dead task; false for any other. */
  discard(queue: string, id: string): Promise<boolean>
  /** `onEarlier` is told in how many milliseconds a task is due that came, if it is the first of all that wait. */
  watch(queue: string, onEarlier: (dueInMs: number) => void): Hints
}
