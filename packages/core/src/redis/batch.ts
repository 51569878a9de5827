/**
 * Gathers what is asked in one turn of the event loop, group by group, so that it travels together: a
 * server spends more on reading a request than on answering it. Bounded, because a long batch makes its
 * first caller wait for its last. While nothing is under way a single caller has nothing to gain by waiting: what is asked
 * then leaves at the end of its own tick, unless the batch `waitsForTurn`, as one should whose callers are mostly
 * requests: several are read in a turn.
 */
export class Batch<Group extends object, Item> {
  readonly #max: number
  readonly #send: (group: Group, items: readonly Item[]) => Promise<void>
  readonly #waitsForTurn: boolean
  #gathered = new Map<Group, Item[]>()
  #underWay = 0
  #scheduled = false

  /** `send` never rejects. */
  constructor(
    max: number,
    send: (group: Group, items: readonly Item[]) => Promise<void>,
    { waitsForTurn = false }: { readonly waitsForTurn?: boolean } = {},
  ) {
    this.#max = max
    this.#send = send
    this.#waitsForTurn = waitsForTurn
  }

  add(group: Group, item: Item): void {
    const items = this.#gathered.get(group)
    if (!items) this.#gathered.set(group, [item])
    else if (items.push(item) >= this.#max) {
      this.#gathered.delete(group)
      this.#depart(group, items)
    }
    if (!this.#scheduled) this.#schedule()
  }

  #schedule(): void {
    this.#scheduled = true
    if (this.#underWay === 0 && !this.#waitsForTurn) process.nextTick(this.#flush)
    else setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    this.#scheduled = false
    const gathered = this.#gathered
    this.#gathered = new Map()
    for (const [group, items] of gathered) this.#depart(group, items)
  }

  #depart(group: Group, items: readonly Item[]): void {
    this.#underWay++
    void this.#send(group, items).finally(() => {
      this.#underWay--
    })
  }
}
