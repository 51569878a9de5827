import type { Place } from './store.ts'

/** Who waits for a key, first come first served. Twin of lua/lock/line.lua. */
export class WaitingLine {
  /** By arrival. */
  #waiters: Waiter[] = []
  /** Until when places are kept, also of those who count as dead. */
  #keptUntil = 0

  /** Until when somebody here counts as alive. */
  get aliveUntil(): number {
    return this.#waiters.reduce((latest, waiter) => Math.max(latest, waiter.aliveUntil), 0)
  }

  /** Stands where it stands or stood, else at the end; since when it is there. */
  stand({ waiter, since }: Place, arrival: number, now: number): number {
    if (now >= this.#keptUntil) this.#waiters = []
    this.#keptUntil = now + KEPT_MS
    const before = this.remove(waiter)
    const came = Math.min(before?.since ?? arrival, since ?? arrival)
    const behind = this.#waiters.findIndex((other) => other.since > came)
    const standing = { waiter, since: came, aliveUntil: now + ALIVE_MS }
    this.#waiters.splice(behind < 0 ? this.#waiters.length : behind, 0, standing)
    return came
  }

  remove(waiter: string): { readonly since: number } | undefined {
    const at = this.#waiters.findIndex((other) => other.waiter === waiter)
    return at < 0 ? undefined : this.#waiters.splice(at, 1)[0]
  }

  /** Takes the first who is alive out of the line; who has not asked for long is passed over. */
  next(now: number): string | undefined {
    for (;;) {
      const first = this.#waiters.shift()
      if (!first || first.aliveUntil >= now) return first?.waiter
    }
  }

  /** How many are alive. */
  alive(now: number): number {
    return this.#waiters.filter(({ aliveUntil }) => aliveUntil >= now).length
  }
}

interface Waiter {
  readonly waiter: string
  readonly since: number
  readonly aliveUntil: number
}

/** Who does not ask for so long is dead: it should have asked at least twice. */
const ALIVE_MS = 10_000
const KEPT_MS = 30_000
