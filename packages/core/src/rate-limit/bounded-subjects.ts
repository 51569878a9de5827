/** What the memory store keeps of one subject under one policy. */
export interface Subject {
  readonly state: unknown
  /** From then on it is as if nothing had ever been spent. */
  readonly expiresAt: number
  /** While it is over its limit: until when. Else 0. */
  readonly refusedUntil: number
}

/**
 * A map of at most `maxKeys` subjects. When it is full, what goes is: a subject that has expired or been idle longest,
 * and only when all are over their limits, the one whose refusal ends soonest: no stream of fresh keys
 * can wash out a refusal.
 */
export class BoundedSubjects {
  readonly #maxKeys: number
  /** Least recently used first. */
  readonly #idle = new Map<string, Subject>()
  readonly #refused = new Map<string, Subject>()
  readonly #endings = new Endings()

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#idle.size + this.#refused.size
  }

  get(key: string, now: number): Subject | undefined {
    const subject = this.#idle.get(key) ?? this.#refused.get(key)
    return subject && subject.expiresAt > now ? subject : undefined
  }

  set(key: string, subject: Subject, now: number): void {
    this.delete(key)
    this.#reclaim(now)
    while (this.size >= this.#maxKeys) this.#evict(now)
    if (subject.refusedUntil > now) {
      this.#refused.set(key, subject)
      this.#endings.push({ key, at: subject.refusedUntil })
      if (this.#endings.size > 2 * this.#refused.size + 64) this.#rebuildEndings()
    } else this.#idle.set(key, subject)
  }

  delete(key: string): void {
    if (!this.#idle.delete(key)) this.#refused.delete(key)
  }

  /** Drops every expired subject; for a timer, not for a request. */
  sweep(now: number): void {
    for (const map of [this.#idle, this.#refused])
      for (const [key, subject] of map) if (subject.expiresAt <= now) map.delete(key)
  }

  /** Each insertion looks at the two subjects idle longest, so that expired ones go sooner than they come. */
  #reclaim(now: number): void {
    let looks = 2
    for (const [key, subject] of this.#idle) {
      if (looks-- === 0 || subject.expiresAt > now) return
      this.#idle.delete(key)
    }
  }

  #evict(now: number): void {
    const soonest = this.#soonest()
    const ended = soonest !== undefined && soonest.at <= now
    const idle = ended ? undefined : this.#idle.keys().next().value
    if (idle !== undefined) this.#idle.delete(idle)
    else if (soonest) {
      this.#endings.pop()
      this.#refused.delete(soonest.key)
    }
  }

  /** The ending that is still true: a subject may have been set again, or deleted, since its ending was noted. */
  #soonest(): Ending | undefined {
    for (let ending = this.#endings.peek(); ending; ending = this.#endings.peek()) {
      if (this.#refused.get(ending.key)?.refusedUntil === ending.at) return ending
      this.#endings.pop()
    }
    return undefined
  }

  #rebuildEndings(): void {
    this.#endings.clear()
    for (const [key, subject] of this.#refused)
      this.#endings.push({ key, at: subject.refusedUntil })
  }
}

interface Ending {
  readonly key: string
  readonly at: number
}

/** A binary heap, earliest ending first. */
class Endings {
  readonly #heap: Ending[] = []

  get size(): number {
    return this.#heap.length
  }

  peek(): Ending | undefined {
    return this.#heap[0]
  }

  clear(): void {
    this.#heap.length = 0
  }

  push(ending: Ending): void {
    let index = this.#heap.push(ending) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#at(parent) <= ending.at) break
      this.#swap(index, parent)
      index = parent
    }
  }

  pop(): void {
    const last = this.#heap.pop()
    if (!last || this.#heap.length === 0) return
    this.#heap[0] = last
    for (let index = 0; ; ) {
      let least = 2 * index + 1
      if (this.#at(least + 1) < this.#at(least)) least++
      if (this.#at(least) >= last.at) return
      this.#swap(index, least)
      index = least
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap
    const [first, second] = [heap[a], heap[b]]
    if (first && second) [heap[a], heap[b]] = [second, first]
  }
}
