import { Child } from '../../support/child.ts'
import { FlakyLink } from '../../support/flaky-link.ts'
import { nowMs } from './monotonic.ts'
import type { PackageName } from './packages/index.ts'

/** What `children/worker.ts` is told at its start. */
export interface WorkerSettings extends WorkSettings {
  readonly name: string
  readonly seed: number
  /** Its client rejects what was under way when a connection broke. */
  readonly givesUp: boolean
  readonly file: string
  readonly resourcePort: number
  readonly redis: Address
}

export interface WorkSettings {
  readonly package: PackageName
  readonly key: string
  readonly callers: number
  readonly leaseMs: number
  readonly waitMs: number
  /** The work takes from a half to one and a half times as long. */
  readonly workMs: number
  readonly renew: boolean
}

/** As ioredis takes it. */
export type Address =
  | { readonly host: string; readonly port: number }
  | { readonly name: string; readonly sentinels: { host: string; port: number }[] }

/** One process at work, with a link of its own to the server where it has one. */
export class Worker implements AsyncDisposable {
  readonly name: string
  readonly link: FlakyLink | undefined
  readonly #child: Child
  #working: Promise<unknown> = Promise.resolve()

  private constructor(name: string, link: FlakyLink | undefined, child: Child) {
    this.name = name
    this.link = link
    this.#child = child
  }

  /** `clockOffsetMs` sets its wall clock off, which must make no difference. */
  static async start(settings: WorkerSettings, clockOffsetMs: number): Promise<Worker> {
    const { redis } = settings
    const link = 'port' in redis ? await FlakyLink.to(redis.port) : undefined
    const address = link ? { host: '127.0.0.1', port: link.port } : redis
    const args = [JSON.stringify({ ...settings, redis: address })]
    const file = new URL('children/worker.ts', import.meta.url)
    return new Worker(settings.name, link, await Child.start(file, { args, clockOffsetMs }))
  }

  begin(): void {
    this.#working = this.#child.ask('work')
    this.#working.catch(() => {}) // the end of a process that is killed
  }

  /** Resolves when the last call of this process has ended. */
  async finish(): Promise<void> {
    await this.#child.ask('finish')
    await this.#working
  }

  /** Stands still for so long, with its connections open. Returns from when until when, at the least. */
  async stop(ms: number): Promise<{ atMs: number; untilMs: number }> {
    const atMs = nowMs()
    this.#child.pause()
    await new Promise((resolve) => setTimeout(resolve, ms))
    const untilMs = nowMs()
    this.#child.resume()
    return { atMs, untilMs }
  }

  kill(): Promise<void> {
    return this.#child.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await this.link?.[Symbol.asyncDispose]()
  }
}
