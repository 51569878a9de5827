/**
 * Deadlines of one length for many pending calls: they end in the order they began, so one timer, set
 * for the oldest, serves all. While calls are pending it keeps the process alive, as a caller who waits expects.
 */
export class Deadlines {
  readonly #ms: number
  readonly #queue: Pending[] = []
  #head = 0
  #open = 0
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls `expire` unless the returned function was called within the deadline. */
  start(expire: () => void): () => void {
    const pending: Pending = { at: performance.now() + this.#ms, expire, settled: false }
    this.#queue.push(pending)
    this.#open++
    this.#timer ??= this.#arm(this.#ms)
    if (this.#open === 1) this.#timer.ref()
    return () => this.#settle(pending)
  }

  #settle(pending: Pending): void {
    if (pending.settled) return
    pending.settled = true
    this.#open--
    if (this.#open === 0) this.#timer?.unref()
  }

  #arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#ring(), ms)
  }

  #ring(): void {
    // Replies that arrived while the event loop was blocked are read before the check phase: they are not late.
    setImmediate(() => this.#expireDue())
  }

  #expireDue(): void {
    const now = performance.now()
    for (let next = this.#next(); next && next.at <= now; next = this.#next()) {
      this.#settle(next)
      next.expire()
    }
    const next = this.#next()
    this.#timer = next ? this.#arm(Math.max(1, next.at - now)) : undefined
  }

  /** The oldest call still pending; the settled ones before it are let go. */
  #next(): Pending | undefined {
    while (this.#queue[this.#head]?.settled) this.#head++
    if (this.#head > 1024 || this.#head === this.#queue.length) {
      this.#queue.splice(0, this.#head)
      this.#head = 0
    }
    return this.#queue[this.#head]
  }
}

interface Pending {
  readonly at: number
  readonly expire: () => void
  settled: boolean
}
