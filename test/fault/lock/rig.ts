import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisSentinel } from '../../support/redis-sentinel.ts'
import type { RedisServer } from '../../support/redis-server.ts'
import type { History, HistoryEvent, StoredKey } from './history.ts'
import { nowMs } from './monotonic.ts'
import { packages } from './packages/index.ts'
import { Resource } from './resource.ts'
import { type Address, Worker, type WorkSettings } from './worker.ts'

export interface RigOptions extends Partial<WorkSettings> {
  readonly processes?: number
  readonly seed?: number
}

const DEFAULTS = {
  package: 'sluice',
  key: 'order-7',
  processes: 3,
  callers: 2,
  leaseMs: 10_000,
  waitMs: 3000,
  workMs: 10,
  renew: false,
  seed: 1,
} as const

/** Processes that contend for one lock and write to one resource, and what happened to them. */
export class Rig implements AsyncDisposable {
  readonly resource: Resource
  readonly workers: Worker[] = []
  readonly #site: RedisServer | RedisSentinel
  readonly #settings: WorkSettings & { readonly seed: number }
  readonly #folder: string
  /** What the rig itself did and saw. */
  readonly #events: HistoryEvent[] = []
  #started = 0

  private constructor(
    site: RedisServer | RedisSentinel,
    settings: WorkSettings & { readonly seed: number },
    resource: Resource,
    folder: string,
  ) {
    this.resource = resource
    this.#site = site
    this.#settings = settings
    this.#folder = folder
  }

  static async start(site: RedisServer | RedisSentinel, options: RigOptions = {}): Promise<Rig> {
    const { processes, ...settings } = { ...DEFAULTS, ...options }
    const folder = await mkdtemp(join(tmpdir(), 'sluice-history-'))
    const rig = new Rig(site, settings, await Resource.start(), folder)
    const workers = await Promise.all(Array.from({ length: processes }, () => rig.#spawn()))
    rig.workers.push(...workers)
    return rig
  }

  begin(): void {
    for (const worker of this.workers) worker.begin()
  }

  /** Resolves when every call has ended, and looks at what is left on the server a second later. */
  async finish(): Promise<History> {
    await Promise.all(this.workers.map((worker) => worker.finish()))
    await sleep(1000) // L3: what is uncertain is cleaned up by then
    this.note({ what: 'looked', atMs: nowMs(), keys: await this.#look() })
    return this.history()
  }

  /** What is known so far. A line that is being written is left out. */
  async history(): Promise<History> {
    const events: HistoryEvent[] = [...this.#events, ...this.resource.writes]
    for (const name of await readdir(this.#folder)) {
      const lines = (await readFile(join(this.#folder, name), 'utf8')).split('\n').slice(0, -1)
      for (const line of lines) events.push(JSON.parse(line))
    }
    return events.sort((one, other) => one.atMs - other.atMs)
  }

  note(event: HistoryEvent): void {
    this.#events.push(event)
  }

  /** The process that was let in last, just after it began its work; another one if nobody is let in for long. */
  async holder(): Promise<Worker> {
    const patience = new AbortController()
    const name = await Promise.race([
      this.resource.nextHolder(),
      sleep(500, undefined, { signal: patience.signal }).catch(() => undefined),
    ])
    patience.abort()
    return this.workers.find((worker) => worker.name === name) ?? (this.workers[0] as Worker)
  }

  /** SIGSTOP, and SIGCONT after so long. */
  async stop(worker: Worker, ms: number): Promise<void> {
    const stopped = await worker.stop(ms)
    this.note({ what: 'stopped', process: worker.name, ...stopped })
  }

  /** SIGKILL; another process takes its place. */
  async replace(worker: Worker): Promise<void> {
    await worker.kill()
    this.note({ what: 'died', atMs: nowMs(), process: worker.name })
    await worker[Symbol.asyncDispose]()
    const successor = await this.#spawn()
    this.workers[this.workers.indexOf(worker)] = successor
    successor.begin()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.workers) await worker[Symbol.asyncDispose]()
    await this.resource[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true, force: true })
  }

  #spawn(): Promise<Worker> {
    const number = ++this.#started
    const name = `p${number}`
    const { seed, ...settings } = this.#settings
    const givesUp = this.#settings.package === 'sluice' && number % 3 > 0
    const own = { name, givesUp, seed: seed + number, file: join(this.#folder, name) }
    const { port } = this.resource
    const clockOffsetMs = (number % 3) * 3_600_000 // no wall clock decides anything
    return Worker.start(
      { ...settings, ...own, resourcePort: port, redis: this.#address() },
      clockOffsetMs,
    )
  }

  #address(): Address {
    const site = this.#site
    return 'addresses' in site
      ? { name: site.name, sentinels: site.addresses }
      : { host: '127.0.0.1', port: site.port }
  }

  async #look(): Promise<StoredKey[]> {
    const server = 'addresses' in this.#site ? this.#site.master : this.#site
    const lockKey = packages[this.#settings.package].lockKey(this.#settings.key)
    const names = (await server.command('KEYS', `*${this.#settings.key}*`)) as string[]
    const keys: StoredKey[] = []
    for (const name of names) {
      const ttlMs = Number(await server.command('PTTL', name))
      if (ttlMs !== -2) keys.push({ name, lock: name === lockKey, ttlMs })
    }
    return keys
  }
}
