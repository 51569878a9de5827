import type { RedisServer } from './redis-server.ts'

/** One slot's way from one master to another, step by step, so that a test can act in between. */
export class SlotMigration {
  readonly #slot: number
  readonly #from: RedisServer
  readonly #to: RedisServer
  readonly #nodes: readonly RedisServer[]

  private constructor(
    slot: number,
    from: RedisServer,
    to: RedisServer,
    nodes: readonly RedisServer[],
  ) {
    this.#slot = slot
    this.#from = from
    this.#to = to
    this.#nodes = nodes
  }

  static async open(
    slot: number,
    from: RedisServer,
    to: RedisServer,
    nodes: readonly RedisServer[],
  ): Promise<SlotMigration> {
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from))
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to))
    return new SlotMigration(slot, from, to, nodes)
  }

  /** Moves the keys that the slot holds now. */
  async moveKeys(): Promise<void> {
    for (;;) {
      const keys = await this.#from.command('CLUSTER', 'GETKEYSINSLOT', this.#slot, 100)
      const batch = keys as string[]
      if (batch.length === 0) return
      await this.#from.command('MIGRATE', '127.0.0.1', this.#to.port, '', 0, 5000, 'KEYS', ...batch)
    }
  }

  /** Gives the slot to the new master; all keys must have moved. */
  async finish(): Promise<void> {
    const id = await idOf(this.#to)
    const others = this.#nodes.filter((node) => node !== this.#to && node !== this.#from)
    for (const node of [this.#to, this.#from, ...others])
      await node.command('CLUSTER', 'SETSLOT', this.#slot, 'NODE', id)
  }
}

async function idOf(node: RedisServer): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'))
}
