import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command, fields } from './command.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { end, launch } from './launch.ts'
import { RedisServer } from './redis-server.ts'

/** The name under which clients ask the sentinels for the master. */
const NAME = 'sluice'
/** Must exceed the second between two pings, or a master is down between them. */
const DOWN_AFTER_MS = 1500
const HURRY = ['PING-PERIOD', 200, 'INFO-PERIOD', 500, 'PUBLISH-PERIOD', 200]

interface Sentinel {
  readonly port: number
  readonly process: ChildProcess
}

/** A master and its replica, watched by sentinels that take a master for dead that is silent for `DOWN_AFTER_MS`. */
export class RedisSentinel implements AsyncDisposable {
  readonly name = NAME
  readonly #folder: string
  readonly #sentinels: Sentinel[] = []
  readonly #servers: RedisServer[] = []

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async start({ sentinels = 3 }: { sentinels?: number } = {}): Promise<RedisSentinel> {
    const set = new RedisSentinel(await mkdtemp(join(tmpdir(), 'sluice-sentinel-')))
    const master = await RedisServer.start()
    const replica = await RedisServer.start(['--replicaof', `127.0.0.1 ${master.port}`])
    set.#servers.push(master, replica)
    await eventually(async () => isLinked(await replica.command('INFO', 'replication')))
    for (let index = 0; index < sentinels; index++) await set.#watch(master, sentinels)
    await set.#everySentinelSees(
      (seen) => seen['num-slaves'] === '1' && seen['num-other-sentinels'] === `${sentinels - 1}`,
    )
    return set
  }

  /** For ioredis: `new Redis({ name: set.name, sentinels: set.addresses })`. */
  get addresses(): { host: string; port: number }[] {
    return this.#sentinels.map(({ port }) => ({ host: '127.0.0.1', port }))
  }

  get master(): RedisServer {
    return this.#servers[0] as RedisServer
  }

  get replica(): RedisServer {
    return this.#servers[1] as RedisServer
  }

  /** Kills the master and waits until all sentinels name the replica, which becomes `master`; the dead one, `replica`. */
  async failover(): Promise<void> {
    await this.master.kill()
    this.#servers.reverse()
    const { port } = this.master
    await this.#everySentinelSees((seen) => seen['port'] === `${port}`)
    const role = async () => fields(await this.master.command('INFO', 'replication'))['role']
    await eventually(async () => (await role()) === 'master')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#sentinels) await end(process, 'SIGKILL')
    for (const server of this.#servers) await server[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #watch(master: RedisServer, sentinels: number): Promise<void> {
    const port = await freePort()
    const file = join(this.#folder, `${port}.conf`) // a sentinel keeps its state in its configuration
    const quorum = Math.floor(sentinels / 2) + 1
    await writeFile(
      file,
      `port ${port}
bind 127.0.0.1
sentinel monitor ${NAME} 127.0.0.1 ${master.port} ${quorum}
sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}
sentinel failover-timeout ${NAME} 2000
`,
    )
    this.#sentinels.push({
      port,
      process: await launch([file, '--sentinel'], '+monitor master', this.#folder),
    })
    // From 7.0 on, sentinels can be told to look and talk more often; older ones only take longer.
    await command(port, 'SENTINEL', 'DEBUG', ...HURRY).catch(() => {})
  }

  async #everySentinelSees(isSo: (seen: Record<string, string>) => boolean): Promise<void> {
    const look = async (port: number) => isSo(seen(await command(port, 'SENTINEL', 'MASTER', NAME)))
    for (const { port } of this.#sentinels) await eventually(() => look(port), { withinMs: 30_000 })
  }
}

function isLinked(info: unknown): boolean {
  return fields(info)['master_link_status'] === 'up'
}

/** `['name', 'sluice', 'port', '10001', …]` as a record. */
function seen(reply: unknown): Record<string, string> {
  const words = reply as string[]
  const at = (index: number) => words[index] ?? ''
  const pairs = words.map((_, index) => [at(2 * index), at(2 * index + 1)])
  return Object.fromEntries(pairs)
}
