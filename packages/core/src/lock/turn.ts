/** The time in which a process passes a lease among its own callers while others wait. */
export class Turn {
  readonly #startedAt: number
  readonly #passes: number

  constructor(startedAt: number, passes = 0) {
    this.#startedAt = startedAt
    this.#passes = passes
  }

  /** Whether its next pass comes before the line of other processes. */
  goesOn(now: number): boolean {
    return this.#passes < MOST_PASSES && now - this.#startedAt < TURN_MS
  }

  passed(): Turn {
    return new Turn(this.#startedAt, this.#passes + 1)
  }

  /**
   * How long until its callers stand in the store's line: a turn that has had its time ends with the next release, and
   * here that does not come.
   */
  patienceMs(now: number): number {
    return this.#startedAt + 2 * TURN_MS - now
  }
}

const TURN_MS = 25
const MOST_PASSES = 16
