import type { CountingAlgorithm } from './algorithm.ts'

/** The log, and the position of the newest entry that has left the window (-1: none has). */
export interface SlidingLogState {
  readonly entries: Entries
  readonly gone: number
}

/**
 * One entry an admitted call, with the running total: what a window holds is the difference of two
 * totals, so entries that have left need not be removed to be right. The boundary is found by
 * galloping from the last one. Twin: `lua/rate-limit/sliding-log.lua`.
 */
export const slidingLogAlgorithm: CountingAlgorithm<SlidingLogState> = {
  read(stored, { windowMs }, now) {
    if (!stored) return { entries: new Entries(), gone: -1 }
    const { entries, gone } = stored
    const first = entries.search(gone + 1, (index) => entries.time(index) + windowMs > now)
    return { entries, gone: first - 1 }
  },
  available: (state, { limit }) => limit - used(state),
  waitMs({ entries, gone }, { limit, windowMs }, now, cost) {
    const target = entries.total(entries.length - 1) + cost - limit
    const last = entries.search(gone + 1, (index) => entries.total(index) >= target)
    return entries.time(last) + windowMs - now
  },
  resetMs: (state, policy, now) =>
    used(state) > 0 ? state.entries.time(state.entries.length - 1) + policy.windowMs - now : 0,
  delayMs: () => 0,
  charge(state, _policy, now, cost) {
    const { entries, gone } = state
    entries.push(now, entries.total(entries.length - 1) + cost)
    entries.forgetBefore(gone)
    return state
  },
  refund(state, policy, now, cost) {
    state.entries.takeBack(Math.min(cost, used(state)))
    return slidingLogAlgorithm.resetMs(state, policy, now) > 0 ? state : undefined
  },
}

function used({ entries, gone }: SlidingLogState): number {
  return entries.total(entries.length - 1) - entries.total(gone)
}

/** Entries by a position that never changes, in small pages, so that forgetting some moves no other. */
class Entries {
  length = 0
  readonly #pages = new Map<number, number[]>()
  #oldestPage = 0

  time(index: number): number {
    return this.#at(index, 0)
  }

  /** The sum of all costs up to and with this entry; 0 before the first. */
  total(index: number): number {
    return index < 0 ? 0 : this.#at(index, 1)
  }

  push(time: number, total: number): void {
    const number = Math.floor(this.length / PAGE_ENTRIES)
    const page = this.#pages.get(number)
    // A clock that was set back must not bring entries out of order.
    const ordered = Math.max(time, this.length > 0 ? this.time(this.length - 1) : time)
    if (page) page.push(ordered, total)
    else this.#pages.set(number, [ordered, total])
    this.length++
  }

  /** Drops at most a few pages that lie wholly before the entry at `index`. */
  forgetBefore(index: number): void {
    const keep = Math.floor(index / PAGE_ENTRIES)
    for (let n = 0; n < PAGES_A_CALL && this.#oldestPage < keep; n++)
      this.#pages.delete(this.#oldestPage++)
  }

  /** Removes `units` from the newest entries. */
  takeBack(units: number): void {
    for (let left = units; left > 0; ) {
      const last = this.length - 1
      const cost = this.total(last) - this.total(last - 1)
      if (cost > left) {
        this.#page(last)[this.#offset(last) + 1] = this.total(last) - left
        return
      }
      const page = this.#page(last)
      page.length -= 2
      if (page.length === 0) this.#pages.delete(Math.floor(last / PAGE_ENTRIES))
      this.length--
      left -= cost
    }
  }

  /** The first position from `from` on for which `test` holds, where it holds from some position on; else the length. */
  search(from: number, test: (index: number) => boolean): number {
    let step = 1
    let low = from
    while (low < this.length && !test(low)) {
      low += step
      step *= 2
    }
    let high = Math.min(low, this.length)
    low = step === 1 ? low : low - step / 2 + 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (test(middle)) high = middle
      else low = middle + 1
    }
    return high
  }

  #at(index: number, field: 0 | 1): number {
    return this.#page(index)[this.#offset(index) + field] ?? Number.NaN
  }

  #page(index: number): number[] {
    const page = this.#pages.get(Math.floor(index / PAGE_ENTRIES))
    if (!page) throw new RangeError(`entry ${index} of ${this.length} is forgotten`)
    return page
  }

  #offset(index: number): number {
    return (index % PAGE_ENTRIES) * 2
  }
}

const PAGE_ENTRIES = 32
const PAGES_A_CALL = 4
