/** Counts up, and tells when it has got so far. */
export class Tally {
  #count = 0
  #awaited = Number.POSITIVE_INFINITY
  #tell = (): void => {}

  readonly add = (): void => {
    this.#count += 1
    if (this.#count >= this.#awaited) this.#tell()
  }

  reaches(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count >= count) return resolve()
      this.#awaited = count
      this.#tell = resolve
    })
  }
}
