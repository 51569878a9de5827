import { randomUUID } from 'node:crypto'
import { emit } from '@sluice/core/store-kit'
import { type Carrier, type Claimed, deliver } from './delivery.ts'

/** Delivers the messages of an outbox until it is closed. */
export interface Relay extends AsyncDisposable {
  /**
   * Claims no more, and waits for what is being published, at most `graceMs` (default 10,000); then the `signal` of the
   * rest is aborted, and other relays deliver it when its lease is over.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

/** What a relay needs to know beside what it does with a message. */
export interface Pace {
  readonly concurrency: number
  readonly pollMs: number
}

/** Asks for messages every `pollMs`, and at once while there are more than it has hands for. */
export class PollingRelay implements Relay {
  readonly #carrier: Carrier
  readonly #pace: Pace
  readonly #running = new Set<Promise<void>>()
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #asking: Promise<void> | undefined
  #more = false
  #closed = false

  constructor(carrier: Carrier, pace: Pace) {
    this.#carrier = carrier
    this.#pace = pace
    this.#ask()
  }

  async close({ graceMs = 10_000 }: { readonly graceMs?: number | undefined } = {}): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    const grace = setTimeout(() => this.#controller.abort(new Error('the relay closes')), graceMs)
    await this.#asking
    await Promise.all(this.#running)
    clearTimeout(grace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #ask(): void {
    if (this.#closed || this.#asking !== undefined) return
    clearTimeout(this.#timer)
    this.#asking = this.#claim().finally(() => {
      this.#asking = undefined
      if (this.#closed) return
      this.#timer = setTimeout(() => this.#ask(), this.#pace.pollMs).unref()
      if (this.#more && this.#hands > 0) this.#ask()
    })
  }

  get #hands(): number {
    return this.#pace.concurrency - this.#running.size
  }

  async #claim(): Promise<void> {
    const { table, leaseMs } = this.#carrier
    const hands = this.#hands
    if (hands === 0) return
    // A token a claim: should this relay lose a message and claim it again, it is not taken for the one before.
    const token = randomUUID()
    const startedAt = performance.now()
    this.#more = false
    try {
      const messages = await table.claim(token, leaseMs, hands)
      for (const message of messages) this.#start({ message, token, startedAt })
      this.#more = messages.length === hands
    } catch (error) {
      emit('sluice:outbox', () => ({ type: 'claim-failed', error }))
    }
  }

  #start(claimed: Claimed): void {
    const run = this.#carry(claimed).finally(() => {
      this.#running.delete(run)
      if (this.#more) this.#ask()
    })
    this.#running.add(run)
  }

  /** Goes on with the aggregate that it has for as long as there is something. */
  async #carry(first: Claimed): Promise<void> {
    const relay = { signal: this.#controller.signal, goesOn: () => !this.#closed }
    for (let claimed: Claimed | undefined = first; claimed; )
      claimed = await deliver(this.#carrier, claimed, relay)
  }
}
