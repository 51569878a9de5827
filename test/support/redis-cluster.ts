import { command, fields } from './command.ts'
import { eventually } from './eventually.ts'
import { RedisServer } from './redis-server.ts'
import { SlotMigration } from './slot-migration.ts'

const SLOTS = 16_384

/** A Redis Cluster of masters without replicas (three unless told), the slots divided evenly. */
export class RedisCluster implements AsyncDisposable {
  readonly nodes: readonly RedisServer[]

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
  }

  static async start({ masters = 3 }: { masters?: number } = {}): Promise<RedisCluster> {
    for (;;) {
      const nodes: RedisServer[] = []
      for (let index = 0; index < masters; index++) nodes.push(await RedisServer.start(OPTIONS))
      const cluster = new RedisCluster(nodes)
      try {
        await Promise.all(nodes.map((node, index) => cluster.#introduce(node, index)))
        await eventually(() => cluster.#isWhole(), { withinMs: 20_000 })
        return cluster
      } catch (error) {
        await cluster[Symbol.asyncDispose]()
        // Another cluster on this machine took a node for one of its own that had the same port before.
        if (!String(error).includes('does not know any other node')) throw error
      }
    }
  }

  /** For ioredis: `new Cluster(cluster.addresses)`. */
  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  }

  /** The slot of a key, as the servers compute it. */
  async slotOf(key: string): Promise<number> {
    return Number(await this.#any.command('CLUSTER', 'KEYSLOT', key))
  }

  /** The node that serves a slot. */
  async ownerOf(slot: number): Promise<RedisServer> {
    const ranges = (await this.#any.command('CLUSTER', 'SLOTS')) as [
      number,
      number,
      [string, number],
    ][]
    const port = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][1]
    const owner = this.nodes.find((node) => node.port === port)
    if (!owner) throw new Error(`no node serves slot ${slot}`)
    return owner
  }

  /**
   * Opens the migration of a slot. The owner answers ASK for keys it does not hold; after `moveKeys()`, for all keys;
   * after `finish()`, MOVED.
   */
  migrateSlot(slot: number, from: RedisServer, to: RedisServer): Promise<SlotMigration> {
    return SlotMigration.open(slot, from, to, this.nodes)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node[Symbol.asyncDispose]()
  }

  get #any(): RedisServer {
    return this.nodes[0] as RedisServer
  }

  async #introduce(node: RedisServer, index: number): Promise<void> {
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    await node.command('CLUSTER', 'ADDSLOTS', ...share(index, this.nodes.length))
    if (node !== this.#any) await node.command('CLUSTER', 'MEET', '127.0.0.1', this.#any.port)
  }

  async #isWhole(): Promise<boolean> {
    const infos = await Promise.all(this.nodes.map(({ port }) => command(port, 'CLUSTER', 'INFO')))
    return infos
      .map(fields)
      .every(
        (info) =>
          info['cluster_state'] === 'ok' && info['cluster_known_nodes'] === `${this.nodes.length}`,
      )
  }
}

const OPTIONS = [
  '--cluster-enabled',
  'yes',
  '--cluster-node-timeout',
  '2000',
  '--cluster-announce-ip',
  '127.0.0.1',
]

function share(index: number, parts: number): number[] {
  const first = Math.floor((SLOTS * index) / parts)
  const end = Math.floor((SLOTS * (index + 1)) / parts)
  return Array.from({ length: end - first }, (_, offset) => first + offset)
}
