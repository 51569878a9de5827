/** One run of a task, as its handler sees it. */
export interface Task<T> {
  readonly id: string
  /** What JSON made of what was scheduled: a Date is a string, say. */
  readonly payload: T
  /** 1 at first; more says that an earlier run failed, or fell silent and may have done its work. */
  readonly attempt: number
  /** Higher than those of all earlier runs of this task: for the database to check. A safe integer. */
  readonly fence: number
  /** When it was to run first, by the store's clock. */
  readonly dueAt: Date
  /**
   * Aborted with a `LeaseLostError` before the visibility ends, when it is lost, and with a `WorkerClosedError` when the
   * grace of `close()` is over: others may run the task from now on.
   */
  readonly signal: AbortSignal
  /**
   * Renews the visibility now, before a computation that keeps the event loop busy. Otherwise it renews itself.
   *
   * @throws LeaseLostError (`lease-lost`) when the run is no longer this task's; StoreUnavailableError
   * (`store-unavailable`)
   */
  extend(): Promise<void>
}

/** What runs a task. Rejecting, or throwing, means: failed, try again later. */
export type TaskHandler<T> = (task: Task<T>) => unknown

/** Why a task died. */
export interface TaskError {
  /** That of the error that its handler threw; `VisibilityExpired` when no handler could say. */
  readonly name: string
  readonly message: string
}

/** Why a task died whose last worker fell silent. Twin: lua/delay/claim.lua */
export const VISIBILITY_EXPIRED: TaskError = {
  name: 'VisibilityExpired',
  message: 'no worker ended its last attempt in time',
}

/** A task that is not run any more until somebody redrives it. */
export interface DeadTask<T> {
  readonly id: string
  readonly payload: T
  readonly attempts: number
  readonly error: TaskError
  readonly dueAt: Date
  readonly diedAt: Date
}

/** How many tasks a queue has of each kind, by the store's clock. */
export interface QueueStats {
  /** Not yet due. */
  readonly scheduled: number
  /** Due and unclaimed, those included whose worker fell silent. */
  readonly due: number
  /** Claimed by a worker. */
  readonly processing: number
  readonly dead: number
  /** For how long the oldest of `due` has been due; 0 when none is. */
  readonly oldestDueMs: number
}
