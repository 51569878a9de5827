import type { LeaseLostError } from '../errors.ts'
import type { RunEnd, SettleTaskReply } from './store.ts'
import type { TaskError } from './task.ts'

/** Which task of which queue an event is about. */
interface AboutRun {
  readonly queue: string
  /** The task's id, hashed by `hashKey`: ids often name orders or users. */
  readonly idHash: string
  readonly attempt: number
  readonly fence: number
}

/** `sluice:delay`: a worker got a task, and its handler begins. */
export interface TaskClaimedEvent extends AboutRun {
  readonly type: 'claim'
  /** For how long the task could have been claimed, by the store's clock. */
  readonly lateMs: number
}

/** `sluice:delay`: a handler was done, and the store knows. */
export interface TaskAckedEvent extends AboutRun {
  readonly type: 'ack'
  /** False: the store had no such task any more; an earlier message may have got through whose reply was lost. */
  readonly found: boolean
}

/** `sluice:delay`: a handler failed, and the task is due again later. */
export interface TaskRetriedEvent extends AboutRun {
  readonly type: 'retry'
  readonly delayMs: number
  readonly error: unknown
}

/** `sluice:delay`: a task is not run any more. */
export interface TaskDiedEvent extends AboutRun {
  readonly type: 'dead'
  readonly error: TaskError
}

/** `sluice:delay`: others may run a task that is running here; its `signal` was aborted. */
export interface TaskLostEvent extends AboutRun {
  readonly type: 'lease-lost'
  /** `silence`: no renewal got through; `taken`: the store says that the run has ended. */
  readonly reason: LeaseLostError['reason']
}

/** `sluice:delay`: a task was handed back for others to run at once. */
export interface TaskReturnedEvent extends AboutRun {
  readonly type: 'returned'
  /** `closed`: its worker was closed; `late`: it arrived when the worker had given up its claim, or its visibility was over. */
  readonly reason: 'closed' | 'late'
  /** Whether a handler saw it; if not, the attempt does not count. */
  readonly attempted: boolean
}

/** `sluice:delay`: the end of a run was refused: somebody else has claimed or ended the task since. */
export interface StaleRunEvent extends AboutRun {
  readonly type: 'stale'
  readonly end: RunEnd['state']
}

/** `sluice:delay`: the store did not take the end of a run within the deadline. It is sent again. */
export interface SettlingDelayedEvent extends AboutRun {
  readonly type: 'settlement-delayed'
  readonly end: RunEnd['state']
  readonly error: unknown
}

/** `sluice:delay`: the end of what {@link SettlingDelayedEvent} began. `lost`: the task waits for its visibility. */
export interface SettlingRetriedEvent extends AboutRun {
  readonly type: 'settlement-retried'
  readonly end: RunEnd['state']
  readonly outcome: SettleTaskReply | 'lost'
}

/** What delay queues report. */
export type DelayEvent =
  | TaskClaimedEvent
  | TaskAckedEvent
  | TaskRetriedEvent
  | TaskDiedEvent
  | TaskLostEvent
  | TaskReturnedEvent
  | StaleRunEvent
  | SettlingDelayedEvent
  | SettlingRetriedEvent
