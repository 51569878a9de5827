import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { Connection, type Fate } from './flaky-connection.ts'
import { freePort } from './free-port.ts'

/** A loss ordered of a `FlakyLink`. */
export interface Loss {
  /** Resolves when the connection that suffered it was cut. */
  readonly happened: Promise<void>
}

interface Order extends Fate {
  readonly command: string | undefined
  left: number
}

/** A TCP link to a Redis on 127.0.0.1 that a test can cut, stall, slow down, and let lose one message. */
export class FlakyLink implements AsyncDisposable {
  readonly port: number
  /** Connections made over the link so far. */
  connections = 0
  readonly #target: number
  readonly #open = new Set<Connection>()
  readonly #counts = new Map<string, number>()
  #orders: Order[] = []
  #server: Server | undefined
  #delayMs = 0
  #flow: Promise<void> = Promise.resolve()
  #release = (): void => {}

  private constructor(port: number, target: number) {
    this.port = port
    this.#target = target
  }

  static async to(target: number): Promise<FlakyLink> {
    const link = new FlakyLink(await freePort(), target)
    await link.accept()
    return link
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Replies stop coming back, as from a hung server; requests still arrive there. */
  stall(): void {
    this.#release()
    this.#flow = new Promise((resolve) => {
      this.#release = resolve
    })
  }

  /** Lets the replies held by `stall` come back. */
  resume(): void {
    this.#release()
  }

  /** Replies come back so much later; 0 ends it. */
  delayReplies(ms: number): void {
    this.#delayMs = ms
  }

  /** Breaks all connections; new ones are welcome. */
  cut(): void {
    for (const connection of this.#open) connection.destroy()
  }

  /** New connections meet ECONNREFUSED; open ones stay (see `cut`). */
  refuse(): void {
    this.#server?.close()
    this.#server = undefined
  }

  /** Ends `refuse`. */
  async accept(): Promise<void> {
    if (this.#server) return
    this.#server = createServer((client) => this.#join(client))
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** The `nth` request from now (of `command`, if given) never reaches the server, and its connection breaks. */
  dropRequest(nth = 1, command?: string): Loss {
    return this.#order('request', nth, command)
  }

  /** As `dropRequest`, but the server gets the request `lateMs` after its connection broke, from nobody. */
  delayRequest(lateMs: number, nth = 1, command?: string): Loss {
    return this.#order('request', nth, command, lateMs)
  }

  /**
   * The `nth` request from now (of `command`, if given) is executed, but its reply is lost, and its connection breaks.
   * Requests sent behind it on that connection do not reach the server.
   */
  dropReply(nth = 1, command?: string): Loss {
    return this.#order('reply', nth, command)
  }

  /** How many requests (of `command`, if given) were sent over the link so far. */
  requests(command?: string): number {
    if (command !== undefined) return this.#counts.get(command.toUpperCase()) ?? 0
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.refuse()
    this.cut()
    this.#release()
  }

  #order(what: Fate['what'], left: number, command: string | undefined, lateMs?: number): Loss {
    let happen = (): void => {}
    const happened = new Promise<void>((resolve) => {
      happen = resolve
    })
    this.#orders.push({ what, command: command?.toUpperCase(), left, lateMs, happen })
    return { happened }
  }

  #fateOf(command: string): Fate | undefined {
    this.#counts.set(command, this.requests(command) + 1)
    for (const order of this.#orders)
      if (order.command === undefined || order.command === command) order.left--
    const due = this.#orders.find((order) => order.left === 0)
    this.#orders = this.#orders.filter((order) => order.left > 0)
    return due
  }

  #join(client: Socket): void {
    this.connections++
    const connection = new Connection(client, this.#target, {
      fateOf: (command) => this.#fateOf(command),
      hold: async (sinceMs) => {
        await this.#flow
        await untilMs(sinceMs + this.#delayMs)
      },
    })
    this.#open.add(connection)
    client.on('close', () => this.#open.delete(connection))
  }
}

async function untilMs(momentMs: number): Promise<void> {
  const waitMs = momentMs - performance.now()
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
}
