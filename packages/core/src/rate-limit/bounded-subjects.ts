import { detached } from './kept-key.ts'

const IDLE = -1

/** What the memory store keeps of one subject under one policy. */
export interface Subject {
  readonly state: unknown
  /** From then on it is as if nothing had ever been spent. */
  readonly expiresAt: number
  /** While it is over its limit: until when. Else 0. */
  readonly refusedUntil: number
}

/** Subjects of one kind, by key: no key of one space meets a key of another. */
export type Space = Map<string, Entry>

/**
 * Maps of at most `maxKeys` subjects together. When they are full, what goes is the subject that was idle
 * longest, and only when all are over their limits the one whose refusal ends soonest: no stream of fresh
 * keys can wash out a refusal.
 */
export class BoundedSubjects {
  readonly #maxKeys: number
  readonly #spaces = new Map<string, Space>()
  readonly #idle = new Recency()
  readonly #refused = new Endings()
  #size = 0

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#size
  }

  /** A map a kind, since a key made of two strings would have to be put together and hashed at every call. */
  space(name: string): Space {
    let space = this.#spaces.get(name)
    if (!space) {
      space = new Map()
      this.#spaces.set(name, space)
    }
    return space
  }

  get(space: Space, key: string, now: number): Subject | undefined {
    const entry = space.get(key)
    return entry && entry.expiresAt > now ? entry : undefined
  }

  set(space: Space, key: string, { state, expiresAt, refusedUntil }: Subject, now: number): void {
    const known = space.get(key)
    const entry = known ?? this.#enter(space, key, now)
    entry.state = state
    entry.expiresAt = expiresAt
    entry.used = known !== undefined
    if (entry.position === IDLE && refusedUntil <= now) return
    this.#home(entry).remove(entry)
    entry.refusedUntil = refusedUntil
    if (refusedUntil > now) this.#refused.add(entry)
    else this.#idle.add(entry)
  }

  delete(space: Space, key: string): void {
    const entry = space.get(key)
    if (entry) this.#drop(entry)
  }

  /** Drops every expired subject; for a timer, not for a request. */
  sweep(now: number): void {
    for (const space of this.#spaces.values())
      for (const entry of space.values()) if (entry.expiresAt <= now) this.#drop(entry)
  }

  #enter(space: Space, key: string, now: number): Entry {
    this.#reclaim(now)
    if (this.#size >= this.#maxKeys) this.#evict(now)
    const entry = new Entry(space, detached(key))
    space.set(entry.key, entry)
    this.#idle.add(entry)
    this.#size++
    return entry
  }

  #drop(entry: Entry): void {
    this.#home(entry).remove(entry)
    entry.space.delete(entry.key)
    this.#size--
  }

  #home(entry: Entry): Recency | Endings {
    return entry.position === IDLE ? this.#idle : this.#refused
  }

  /** Each new subject looks at the two that were idle longest, so that expired ones go sooner than they come. */
  #reclaim(now: number): void {
    for (let looks = 0; looks < 2; looks++) {
      const { oldest } = this.#idle
      if (!oldest || oldest.expiresAt > now) return
      this.#drop(oldest)
    }
  }

  #evict(now: number): void {
    const { soonest } = this.#refused
    const ended = soonest && soonest.refusedUntil <= now
    const victim = ended ? soonest : (this.#idle.leastUsed() ?? soonest)
    if (victim) this.#drop(victim)
  }
}

/** In exactly one of two orders: by recency, or, over its limit, in a heap at `position`. */
class Entry implements Subject {
  readonly space: Space
  readonly key: string
  state: unknown
  expiresAt = 0
  refusedUntil = 0
  /** Since it came to its place among the idle ones. */
  used = false
  older: Entry | undefined
  newer: Entry | undefined
  position: number = IDLE

  constructor(space: Space, key: string) {
    this.space = space
    this.key = key
  }
}

/**
 * Subjects within their limits, in the order in which they came; one that was used since gets a second chance
 * when its turn to go has come (the CLOCK algorithm), so that using it moves nothing. A linked list, since a Map finds
 * its first key slowly once many were deleted.
 */
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

  leastUsed(): Entry | undefined {
    while (this.oldest?.used) {
      const entry = this.oldest
      entry.used = false
      this.remove(entry)
      this.add(entry)
    }
    return this.oldest
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
    if (hole > 0 && this.#at(parent(hole)) > last.refusedUntil) this.#rise(last, hole)
    else this.#sink(last, hole)
  }

  #rise(entry: Entry, hole: number): void {
    let position = hole
    for (let up = parent(position); position > 0; up = parent(position)) {
      const above = this.#heap[up]
      if (!above || above.refusedUntil <= entry.refusedUntil) break
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
      if (!below || below.refusedUntil >= entry.refusedUntil) break
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
    return this.#heap[position]?.refusedUntil ?? Number.POSITIVE_INFINITY
  }
}

function parent(position: number): number {
  return (position - 1) >> 1
}
