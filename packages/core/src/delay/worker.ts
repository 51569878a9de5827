/** Options of `work()`. */
export interface WorkOptions {
  /** Tasks that run at a time in this worker: 1 to 10,000; default 10. */
  readonly concurrency?: number | undefined
  /** Closes the worker when it is aborted, with the default grace. */
  readonly signal?: AbortSignal | undefined
}

/** Options of `close()`. */
export interface CloseOptions {
  /** How long running handlers may go on, in milliseconds from 0; default 10,000. */
  readonly graceMs?: number | undefined
}

/** Runs the tasks of a queue, until it is closed. */
export interface Worker extends AsyncDisposable {
  /**
   * Claims nothing from now on, lets running handlers finish, aborts the `signal` of those that have not when the grace
   * is over, and hands their tasks back for others to run at once. Resolves then; never rejects. Called again, it can
   * shorten the grace.
   *
   * @throws ConfigurationError (`configuration`) for a wrong `graceMs`.
   */
  close(options?: CloseOptions): Promise<void>
}
