import { StoreUnavailableError } from './errors.ts'
import { type Expiring, ExpiryHeap } from './expiry-heap.ts'

/**
 * A map of at most `maxKeys` records. A full one refuses new keys: to drop a claim or a result that has not expired
 * would be to let work run twice.
 */
export class BoundedRecords<Entry extends Expiring & { readonly id: string }> {
  readonly #maxKeys: number
  readonly #entries = new Map<string, Entry>()
  readonly #expiries = new ExpiryHeap<Entry>()

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#entries.size
  }

  values(): Iterable<Entry> {
    return this.#entries.values()
  }

  get(id: string, now: number): Entry | undefined {
    const entry = this.#entries.get(id)
    return entry && entry.expiresAt > now ? entry : undefined
  }

  /** @throws StoreUnavailableError (`full`) for a new key when nothing has expired. */
  set(entry: Entry, now: number): void {
    const before = this.#entries.get(entry.id)
    if (before) this.#expiries.remove(before)
    else if (this.#entries.size >= this.#maxKeys && this.sweep(now) === 0)
      throw new StoreUnavailableError('full', `it holds ${this.#maxKeys} unexpired records already`)
    this.#entries.set(entry.id, entry)
    this.#expiries.add(entry)
  }

  delete(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#expiries.remove(entry)
    this.#entries.delete(id)
  }

  /** Drops what has expired, and says how much that was. */
  sweep(now: number): number {
    let dropped = 0
    for (;;) {
      const { soonest } = this.#expiries
      if (!soonest || soonest.expiresAt > now) return dropped
      this.delete(soonest.id)
      dropped++
    }
  }
}
