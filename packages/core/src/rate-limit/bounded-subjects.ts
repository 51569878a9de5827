/** What the memory store keeps of one subject under one policy. */
export interface Subject {
  readonly state: unknown
  /** From then on it is as if nothing had ever been spent. */
  readonly expiresAt: number
  /** While it is over its limit: until when. Else 0. */
  readonly refusedUntil: number
}

/**
 * A map of at most `maxKeys` subjects. When it is full, what goes is the subject that was idle longest, and
 * only when all are over their limits the one whose refusal ends soonest: no stream of fresh keys can
 * wash out a refusal.
 */
export class BoundedSubjects {
  readonly #maxKeys: number
  readonly #entries = new Map<string, Entry>()
  readonly #idle = new Recency()
  readonly #refused = new Endings()

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string, now: number): Subject | undefined {
    const subject = this.#entries.get(key)?.subject
    return subject && subject.expiresAt > now ? subject : undefined
  }

  set(key: string, subject: Subject, now: number): void {
    let entry = this.#entries.get(key)
    if (entry) this.#home(entry).remove(entry)
    else {
      this.#reclaim(now)
      if (this.#entries.size >= this.#maxKeys) this.#evict(now)
      entry = { key, subject, older: undefined, newer: undefined, position: IDLE }
      this.#entries.set(key, entry)
    }
    entry.subject = subject
    if (subject.refusedUntil > now) this.#refused.add(entry)
    else this.#idle.add(entry)
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#home(entry).remove(entry)
    this.#entries.delete(key)
  }

  /** Drops every expired subject; for a timer, not for a request. */
  sweep(now: number): void {
    for (const [key, { subject }] of this.#entries) if (subject.expiresAt <= now) this.delete(key)
  }

  #home(entry: Entry): Recency | Endings {
    return entry.position === IDLE ? this.#idle : this.#refused
  }

  /** Each new subject looks at the two that were idle longest, so that expired ones go sooner than they come. */
  #reclaim(now: number): void {
    for (let looks = 0; looks < 2; looks++) {
      const { oldest } = this.#idle
      if (!oldest || oldest.subject.expiresAt > now) return
      this.delete(oldest.key)
    }
  }

  #evict(now: number): void {
    const { oldest } = this.#idle
    const { soonest } = this.#refused
    const ended = soonest && soonest.subject.refusedUntil <= now
    const victim = ended || !oldest ? soonest : oldest
    if (victim) this.delete(victim.key)
  }
}

/** In exactly one of two orders: by recency, or, over its limit, in a heap at `position`. */
interface Entry {
  readonly key: string
  subject: Subject
  older: Entry | undefined
  newer: Entry | undefined
  position: number
}

const IDLE = -1

/** Subjects within their limits. A linked list, since a Map finds its first key slowly once many were deleted. */
class Recency {
  oldest: Entry | undefined
  #newest: Entry | undefined

  add(entry: Entry): void {
    entry.older = this.#newest
    entry.newer = undefined
    if (this.#newest) this.#newest.newer = entry
    else this.oldest = entry
    this.#newest = entry
  }

  remove(entry: Entry): void {
    if (entry.older) entry.older.newer = entry.newer
    else this.oldest = entry.newer
    if (entry.newer) entry.newer.older = entry.older
    else this.#newest = entry.older
  }
}

/** Subjects over their limits: a binary heap, the refusal that ends soonest first. */
class Endings {
  readonly #heap: Entry[] = []

  get soonest(): Entry | undefined {
    return this.#heap[0]
  }

  add(entry: Entry): void {
    this.#rise(entry, this.#heap.length)
  }

  remove(entry: Entry): void {
    const hole = entry.position
    entry.position = IDLE
    const last = this.#heap.pop()
    if (!last || last === entry) return
    if (hole > 0 && this.#at(parent(hole)) > last.subject.refusedUntil) this.#rise(last, hole)
    else this.#sink(last, hole)
  }

  #rise(entry: Entry, hole: number): void {
    let position = hole
    for (let up = parent(position); position > 0; up = parent(position)) {
      const above = this.#heap[up]
      if (!above || above.subject.refusedUntil <= entry.subject.refusedUntil) break
      this.#put(above, position)
      position = up
    }
    this.#put(entry, position)
  }

  #sink(entry: Entry, hole: number): void {
    let position = hole
    for (;;) {
      const left = 2 * position + 1
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left
      const below = this.#heap[child]
      if (!below || below.subject.refusedUntil >= entry.subject.refusedUntil) break
      this.#put(below, position)
      position = child
    }
    this.#put(entry, position)
  }

  #put(entry: Entry, position: number): void {
    this.#heap[position] = entry
    entry.position = position
  }

  #at(position: number): number {
    return this.#heap[position]?.subject.refusedUntil ?? Number.POSITIVE_INFINITY
  }
}

function parent(position: number): number {
  return (position - 1) >> 1
}
