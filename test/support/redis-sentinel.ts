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

interface Sentinel {
  readonly port: number
  readonly process: ChildProcess
}

/** A master and its replica, watched by sentinels that take a silent master for dead after half a second. */
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
      (seen) => seen['slaves'] === '1' && seen['sentinels'] === `${sentinels}`,
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
    await this.#everySentinelSees((seen) => seen['address'] === `127.0.0.1:${port}`)
    const role = async () => fields(await this.master.command('INFO', 'replication'))['role']
    await eventually(async () => (await role()) === 'master')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#sentinels) await end(process, 'SIGKILL')
    for (const server of this.#servers) await server[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true })
  }

  async #watch(master: RedisServer, sentinels: number): Promise<void> {
    const port = await freePort()
    const file = join(this.#folder, `${port}.conf`) // a sentinel keeps its state in its configuration
    const quorum = Math.floor(sentinels / 2) + 1
    await writeFile(
      file,
      `port ${port}
bind 127.0.0.1
dir ${this.#folder}
sentinel monitor ${NAME} 127.0.0.1 ${master.port} ${quorum}
sentinel down-after-milliseconds ${NAME} 500
sentinel failover-timeout ${NAME} 2000
`,
    )
    this.#sentinels.push({ port, process: await launch([file, '--sentinel'], '+monitor master') })
    // From 7.0 on, sentinels can be told to talk more often than every 2 and 10 seconds; older ones only take longer.
    await command(port, 'SENTINEL', 'DEBUG', 'PUBLISH-PERIOD', 200, 'INFO-PERIOD', 500).catch(
      () => {},
    )
  }

  async #everySentinelSees(isSo: (seen: Record<string, string>) => boolean): Promise<void> {
    for (const { port } of this.#sentinels)
      await eventually(async () => isSo(seen(await command(port, 'INFO', 'sentinel'))), {
        withinMs: 20_000,
      })
  }
}

function isLinked(info: unknown): boolean {
  return fields(info)['master_link_status'] === 'up'
}

/** `master0:name=…,status=ok,address=127.0.0.1:10001,slaves=1,sentinels=3` as a record. */
function seen(info: unknown): Record<string, string> {
  const pairs = fields(info)['master0']?.split(',') ?? []
  return Object.fromEntries(pairs.map((pair) => pair.split('=')))
}
