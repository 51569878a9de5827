/** A call that waits for an answer, as a link of the list that {@link Deadlines} keeps. */
export interface Pending {
  dueAt: number
  earlier: Pending | undefined
  later: Pending | undefined
  /** Called at the deadline, unless the call was ended before. */
  expire(): void
}

/**
 * Deadlines of one length for many pending calls: they end in the order they began, so one timer, set
 * for the oldest, serves all, and a call that has its answer leaves nothing behind. While calls are pending the
 * timer keeps the process alive, as a caller who waits expects.
 */
export class Deadlines {
  readonly #ms: number
  #oldest: Pending | undefined
  #newest: Pending | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  start(pending: Pending): void {
    pending.dueAt = performance.now() + this.#ms
    pending.earlier = this.#newest
    if (this.#newest) this.#newest.later = pending
    else this.#oldest = pending
    this.#newest = pending
    if (!this.#timer) this.#timer = this.#arm(this.#ms)
    else if (this.#oldest === pending) this.#timer.ref()
  }

  /** To be called once for every call, when it settles. */
  end(pending: Pending): void {
    if (pending.earlier) pending.earlier.later = pending.later
    else this.#oldest = pending.later
    if (pending.later) pending.later.earlier = pending.earlier
    else this.#newest = pending.earlier
    // One that has grown old would keep the younger ones, and all that they hold, from being collected.
    pending.earlier = undefined
    pending.later = undefined
    if (!this.#oldest) this.#timer?.unref()
  }

  #arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      const now = performance.now()
      const lateMs = now - (this.#oldest?.dueAt ?? now)
      // A process that was busy may have had no time to send what was asked of it: the store gets a moment to answer.
      if (lateMs < BUSY_MS) this.#expire(now)
      else this.#timer = setTimeout(() => this.#expire(now), MOMENT_MS)
    }, ms)
  }

  #expire(dueBy: number): void {
    // Replies that arrived while the event loop was blocked are read before the check phase: they are not late.
    setImmediate(() => {
      while (this.#oldest && this.#oldest.dueAt <= dueBy) this.#oldest.expire()
      const leftMs = this.#oldest && this.#oldest.dueAt - performance.now()
      this.#timer = leftMs === undefined ? undefined : this.#arm(Math.max(1, Math.ceil(leftMs)))
    })
  }
}

const BUSY_MS = 20
const MOMENT_MS = 100
