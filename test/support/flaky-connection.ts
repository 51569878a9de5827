import { connect, type Socket } from 'node:net'
import { commandOf, isPush, RespFramer } from './resp.ts'

/** What is to be lost of a request, and whom to tell. */
export interface Fate {
  readonly what: 'request' | 'reply'
  /** A request that is not lost but late: it reaches the server so long after its connection broke. */
  readonly lateMs?: number | undefined
  readonly happen: () => void
}

export interface Conditions {
  /** Called once a request, in order. */
  readonly fateOf: (command: string) => Fate | undefined
  /** Resolves when a reply that came at `sinceMs` may go on to the client. */
  readonly hold: (sinceMs: number) => Promise<void>
}

/** One client's connection over a `FlakyLink`: pairs requests and replies, so that exactly one of them can be lost. */
export class Connection {
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #conditions: Conditions
  /** One entry a request that awaits its reply: the loss of that reply, if it is to be lost. */
  readonly #awaiting: (Fate | undefined)[] = []
  /** The request that was lost; it and those behind it are not sent. */
  #lost: (Fate & { readonly request: Buffer }) | undefined
  #closed = false
  #left = false
  #subscribed = false
  #delivery: Promise<void> = Promise.resolve()

  constructor(client: Socket, target: number, conditions: Conditions) {
    this.#client = client
    this.#upstream = connect(target, '127.0.0.1')
    this.#conditions = conditions
    const requests = new RespFramer()
    const replies = new RespFramer()
    client.on('error', () => {}).on('close', () => this.#leaveUpstream())
    client.on('data', (chunk) => {
      for (const request of requests.feed(chunk)) this.#request(request)
    })
    this.#upstream.on('error', () => {}).on('close', () => this.#deliver(() => client.end()))
    this.#upstream.on('data', (chunk) => {
      for (const reply of replies.feed(chunk)) this.#reply(reply)
    })
  }

  destroy(): void {
    this.#client.destroy()
    this.#upstream.destroy()
  }

  #request(request: Buffer): void {
    if (this.#closed) return
    const command = commandOf(request)
    const fate = this.#conditions.fateOf(command)
    this.#subscribed ||= command.endsWith('SUBSCRIBE')
    this.#closed = fate !== undefined
    if (fate?.what === 'request') {
      this.#lost = { ...fate, request }
      this.#breakWhenAnswered()
    } else {
      this.#awaiting.push(fate)
      this.#upstream.write(request)
    }
  }

  #reply(reply: Buffer): void {
    // A subscriber's messages answer no request: from then on there is nothing to pair.
    const unasked = this.#subscribed || isPush(reply)
    const fate = unasked ? undefined : this.#awaiting.shift()
    if (fate) {
      this.#break(fate)
    } else {
      this.#deliver(() => this.#client.write(reply))
      this.#breakWhenAnswered()
    }
  }

  /** Requests before the lost one still get their replies. */
  #breakWhenAnswered(): void {
    if (this.#lost && this.#awaiting.length === 0) this.#break(this.#lost)
  }

  #break(fate: Fate): void {
    this.#deliver(() => {
      this.#client.end()
      this.#leaveUpstream()
      fate.happen()
    })
  }

  /** The client is gone. What it sent may be under way still. */
  #leaveUpstream(): void {
    const late = this.#lost
    if (late?.lateMs === undefined) this.#upstream.destroy()
    else if (!this.#left) setTimeout(() => this.#upstream.end(late.request), late.lateMs).unref()
    this.#left = true
  }

  #deliver(action: () => void): void {
    const sinceMs = performance.now()
    this.#delivery = this.#delivery.then(() => this.#conditions.hold(sinceMs)).then(action)
  }
}
