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
   * When the lease in the way ends, but in time for a call that got lost to be made good within 5 s: half a second for
   * whoever the key is kept for, then this.
   */
  afterRefusalMs(leftMs: number): number {
    return Math.max(Math.min(leftMs, 4000 - 1000 * Math.random()), this.#pauseMs)
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
