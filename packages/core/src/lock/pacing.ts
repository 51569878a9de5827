/** When a line asks again that nobody calls. */
export class Pacing {
  #vainAsks = 0

  /** It asked because the time had come, and not because it was called. */
  asksUncalled(): void {
    this.#vainAsks++
  }

  reset(): void {
    this.#vainAsks = 0
  }

  /**
   * When the lease in the way ends, but early enough to count as alive, and for a call that got lost to be made good
   * within 5 s. However many died at once in front of it: they count as dead after 4.4 s, and then it asks soon.
   */
  afterRefusalMs(leftMs: number): number {
    const soonMs = Math.min(leftMs, 3500 - 500 * Math.random())
    return soonMs < SHORTEST_PAUSE_MS ? Math.max(soonMs, this.#pauseMs) : soonMs
  }

  afterFailureMs(): number {
    return Math.max(PAUSE_AFTER_FAILURE_MS, this.#pauseMs)
  }

  /** Who asked in vain before asks but seldom, and in step with nobody else, however short the leases are. */
  get #pauseMs(): number {
    return this.#vainAsks === 0 ? 0 : SHORTEST_PAUSE_MS * (1 + Math.random())
  }
}

const SHORTEST_PAUSE_MS = 500
const PAUSE_AFTER_FAILURE_MS = 100
