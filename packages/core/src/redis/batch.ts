/**
 * Gathers what is asked in one turn of the event loop, group by group, so that it travels together: a
 * server spends more on reading a request than on answering it. When nothing of the group is under way an item leaves
 * with its own tick; bounded, because a long batch makes its first caller wait for its last.
 */
export class Batch<Group extends object, Item> {
  readonly #max: number
  readonly #send: (group: Group, items: readonly Item[]) => void
  readonly #gathered = new Map<Group, Item[]>()

  constructor(max: number, send: (group: Group, items: readonly Item[]) => void) {
    this.#max = max
    this.#send = send
  }

  add(group: Group, item: Item): void {
    const items = this.#gathered.get(group)
    if (!items) {
      if (this.#gathered.size === 0) setImmediate(() => this.#flush())
      this.#gathered.set(group, [item])
    } else if (items.push(item) >= this.#max) {
      this.#gathered.set(group, [])
      this.#send(group, items)
    }
  }

  #flush(): void {
    const gathered = [...this.#gathered]
    this.#gathered.clear()
    for (const [group, items] of gathered) if (items.length > 0) this.#send(group, items)
  }
}
