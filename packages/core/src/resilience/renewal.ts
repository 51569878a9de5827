import { LeaseLostError } from '../errors.ts'

export interface RenewalOptions {
  /** Just before the claim was sent, by this process's monotonic clock: the lease counts from there at the earliest. */
  readonly startedAt: number
  readonly leaseMs: number
  readonly maxRunMs: number
  /** Whether the lease was prolonged; rejects when nobody knows. */
  renew(): Promise<boolean>
  onLost(reason: LeaseLostError['reason']): void
}

/**
 * Keeps a lease alive while its owner runs: renews it at a third, again soon after a renewal that failed, and aborts
 * `signal` while the lease still has a tenth to go. Its timers keep no process alive.
 */
export class Renewal {
  readonly #options: RenewalOptions
  /** Made for the first who asks for the signal: most owners are done before anybody does. */
  #controller: AbortController | undefined
  #lost: LeaseLostError | undefined
  #endsAt: number
  #renewAt: number
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: RenewalOptions) {
    this.#options = options
    this.#endsAt = options.startedAt + options.leaseMs
    this.#renewAt = options.startedAt + options.leaseMs / 3
    this.#arm()
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#lost) this.#controller.abort(this.#lost)
    }
    return this.#controller.signal
  }

  /** When the lease ends, as far as this process knows. */
  get endsAt(): number {
    return this.#endsAt
  }

  /** No renewal from now on, and no abort. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  get #silentAt(): number {
    return this.#endsAt - this.#options.leaseMs / 10
  }

  get #maxRunAt(): number {
    return this.#options.startedAt + this.#options.maxRunMs
  }

  #arm(): void {
    const next = Math.min(this.#renewAt, this.#silentAt, this.#maxRunAt)
    const delayMs = Math.min(LONGEST_TIMER_MS, Math.ceil(next - performance.now()))
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, delayMs)).unref()
  }

  #tick(): void {
    const now = performance.now()
    if (now >= this.#maxRunAt) this.#lose('max-run')
    else if (now >= this.#silentAt) this.#lose('silence')
    else {
      if (now >= this.#renewAt) void this.#renew(now)
      this.#arm()
    }
  }

  async #renew(sentAt: number): Promise<void> {
    this.#renewAt = Number.POSITIVE_INFINITY
    const renewed = await this.#options.renew().catch(() => undefined)
    if (this.#stopped) return
    if (renewed === false) this.#lose('taken')
    else this.#schedule(sentAt, renewed === true)
  }

  #schedule(sentAt: number, renewed: boolean): void {
    const { leaseMs } = this.#options
    if (renewed) this.#endsAt = sentAt + leaseMs
    this.#renewAt = renewed ? sentAt + leaseMs / 3 : performance.now() + leaseMs / 20
    clearTimeout(this.#timer)
    this.#arm()
  }

  #lose(reason: LeaseLostError['reason']): void {
    this.stop()
    this.#options.onLost(reason)
    this.#lost = new LeaseLostError(reason)
    this.#controller?.abort(this.#lost)
  }
}

/** Longer ones fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647
