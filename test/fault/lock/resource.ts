import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Write } from './history.ts'
import { nowMs } from './monotonic.ts'

/** A write as it comes over TCP, a line of JSON each. */
export interface WriteRequest {
  readonly call: string
  readonly key: string
  readonly fence?: number | undefined
  readonly process: string
  /** The first of its lease: more will follow. */
  readonly first: boolean
}

/** What locks protect: it refuses every write whose fence is lower than one that it accepted before. */
export class Resource implements AsyncDisposable {
  /** In the order in which it decided. */
  readonly writes: Write[] = []
  readonly #server: Server
  readonly #open = new Set<Socket>()
  readonly #highest = new Map<string, number>()
  #onFirst: (process: string) => void = () => {}

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async start(): Promise<Resource> {
    const resource = new Resource()
    resource.#server.listen(0, '127.0.0.1')
    await once(resource.#server, 'listening')
    return resource
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Resolves with the next process that begins its work, before it hears that it was let in. */
  nextHolder(): Promise<string> {
    return new Promise((resolve) => {
      this.#onFirst = resolve
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.#open.add(socket)
    socket.on('error', () => {}).on('close', () => this.#open.delete(socket))
    const lines = createInterface(socket).on('error', () => {}) // it repeats the socket's
    lines.on('line', (line) => {
      const accepted = this.#accept(JSON.parse(line) as WriteRequest)
      if (!socket.destroyed) socket.write(`${accepted}\n`)
    })
  }

  #accept({ call, key, fence, process, first }: WriteRequest): boolean {
    if (first) this.#onFirst(process)
    const highest = this.#highest.get(key) ?? Number.NEGATIVE_INFINITY
    const accepted = fence === undefined || fence >= highest
    if (accepted && fence !== undefined) this.#highest.set(key, fence)
    this.writes.push({ what: 'write', atMs: nowMs(), call, key, fence, accepted })
    return accepted
  }
}
