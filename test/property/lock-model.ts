/** Steps are such that no sum of them is within 0.4 s of where something ends, save a turn: see `Life`. */
export const LEASE_MS = 30_000
const TURN_MS = 500
const ALIVE_MS = 10_000
const LINE_MS = 30_000

/** What must be known of one lock to say what every call answers. Times are the server's. */
export class LockModel {
  now = 0
  holder: { token: number; endsAt: number } | undefined
  #turn: { waiter: number; endsAt: number } | undefined
  #line: { waiter: number; came: number; aliveUntil: number }[] = []
  #lineEndsAt = 0
  #arrivals = 0

  advance(ms: number): void {
    this.now += ms
    if (this.holder && this.now >= this.holder.endsAt) this.holder = undefined
    if (this.#turn && this.now >= this.#turn.endsAt) this.#turn = undefined
    if (this.now >= this.#lineEndsAt) this.#line = []
  }

  get waiters(): number {
    return this.#line.filter(({ aliveUntil }) => aliveUntil >= this.now).length
  }

  /** True: granted. Otherwise when the waiter came, if there is one. */
  claim(token: number, waiter?: number, came?: number): true | number | undefined {
    const own =
      this.holder?.token === token || (waiter !== undefined && this.#turn?.waiter === waiter)
    if (own) return this.#grant(token)
    const since = waiter === undefined ? undefined : this.#stand(waiter, came)
    if (this.holder || this.#turn) return since
    const first = this.#next()
    if (first === waiter) return this.#grant(token)
    this.#turn = { waiter: first as number, endsAt: this.now + TURN_MS }
    return since
  }

  release(token: number): boolean {
    if (this.holder?.token !== token) return false
    this.#handOn()
    return true
  }

  extend(token: number): boolean {
    if (this.holder?.token !== token) return false
    this.#grant(token)
    return true
  }

  /** As `claim`; whether it was released is what `release` would have said. */
  pass(token: number, next: number, waiter: number, came: number | undefined, keepsTurn: boolean) {
    if (this.holder?.token !== token) return this.claim(next, waiter, came)
    if (keepsTurn) return this.#grant(next)
    this.holder = undefined
    this.#line = this.#line.filter((other) => other.waiter !== waiter)
    const since = came === undefined ? undefined : this.#stand(waiter, came)
    const first = this.#next()
    if (first === undefined || first === waiter) return this.#grant(next)
    this.#turn = { waiter: first, endsAt: this.now + TURN_MS }
    return since ?? this.#stand(waiter, undefined)
  }

  leave(waiter: number): void {
    this.#line = this.#line.filter((other) => other.waiter !== waiter)
    if (this.#turn?.waiter === waiter) this.#handOn()
  }

  #grant(token: number): true {
    this.#turn = undefined
    this.holder = { token, endsAt: this.now + LEASE_MS }
    return true
  }

  #handOn(): void {
    const waiter = this.#next()
    this.holder = undefined
    this.#turn = waiter === undefined ? undefined : { waiter, endsAt: this.now + TURN_MS }
  }

  #next(): number | undefined {
    for (;;) {
      const first = this.#line.shift()
      if (!first || first.aliveUntil >= this.now) return first?.waiter
    }
  }

  #stand(waiter: number, came: number = ++this.#arrivals): number {
    const before = this.#line.find((other) => other.waiter === waiter)?.came ?? came
    const since = Math.min(before, came)
    const others = this.#line.filter((other) => other.waiter !== waiter)
    this.#line = [...others, { waiter, came: since, aliveUntil: this.now + ALIVE_MS }]
    this.#line.sort((a, b) => a.came - b.came)
    this.#lineEndsAt = this.now + LINE_MS
    return since
  }
}
