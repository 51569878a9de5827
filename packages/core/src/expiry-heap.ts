/** What can be in an {@link ExpiryHeap}: at most in one. */
export interface Expiring {
  expiresAt: number
  /** Its place in the heap; the heap's own. */
  position: number
}

/** A binary heap, what expires soonest first. To change `expiresAt`, remove and add. */
export class ExpiryHeap<Item extends Expiring> {
  readonly #heap: Item[] = []

  get soonest(): Item | undefined {
    return this.#heap[0]
  }

  add(item: Item): void {
    this.#rise(item, this.#heap.length)
  }

  remove(item: Item): void {
    const hole = item.position
    const last = this.#heap.pop()
    if (!last || last === item) return
    if (hole > 0 && this.#expiryAt(parent(hole)) > last.expiresAt) this.#rise(last, hole)
    else this.#sink(last, hole)
  }

  #rise(item: Item, hole: number): void {
    let position = hole
    while (position > 0) {
      const above = this.#heap[parent(position)]
      if (!above || above.expiresAt <= item.expiresAt) break
      const up = parent(position)
      this.#put(above, position)
      position = up
    }
    this.#put(item, position)
  }

  #sink(item: Item, hole: number): void {
    let position = hole
    for (;;) {
      const left = 2 * position + 1
      const child = this.#expiryAt(left + 1) < this.#expiryAt(left) ? left + 1 : left
      const below = this.#heap[child]
      if (!below || below.expiresAt >= item.expiresAt) break
      this.#put(below, position)
      position = child
    }
    this.#put(item, position)
  }

  #put(item: Item, position: number): void {
    this.#heap[position] = item
    item.position = position
  }

  #expiryAt(position: number): number {
    return this.#heap[position]?.expiresAt ?? Number.POSITIVE_INFINITY
  }
}

function parent(position: number): number {
  return (position - 1) >> 1
}
