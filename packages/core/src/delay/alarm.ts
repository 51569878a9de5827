/** Rings once at a moment of the monotonic clock, however far; setting it again replaces that. Holds no process. */
export class Alarm {
  readonly #ring: () => void
  #at = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(ring: () => void) {
    this.#ring = ring
  }

  set(at: number): void {
    if (at === this.#at) return
    this.#at = at
    clearTimeout(this.#timer)
    this.#arm()
  }

  clear(): void {
    this.#at = Number.POSITIVE_INFINITY
    clearTimeout(this.#timer)
  }

  #arm(): void {
    const waitMs = Math.ceil(this.#at - performance.now())
    const tick = () => {
      // A timer may be some of a millisecond early, or only a part of the way.
      if (performance.now() < this.#at) return this.#arm()
      this.#at = Number.POSITIVE_INFINITY
      this.#ring()
    }
    this.#timer = setTimeout(tick, Math.max(1, Math.min(waitMs, LONGEST_TIMER_MS))).unref()
  }
}

/** Longer ones fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647
