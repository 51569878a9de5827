import { LeaseLostError } from '../errors.ts'

export interface RenewalOptions {
  /** Just before the claim was sent, by this process's monotonic clock: the lease counts from there at the earliest. */
  readonly startedAt: number
  readonly leaseMs: number
  /** It is renewed no longer than this; the last renewal may last longer. */
  readonly maxRunMs: number
  /** The lease itself lasts no longer than this; default: no limit. */
  readonly maxHoldMs?: number
  /** `false`: it is only watched, and that only once somebody reads `signal`. Default `true`. */
  readonly renews?: boolean
  /** Whether the lease was prolonged to `askMs` from now; rejects when nobody knows. */
  renew(askMs: number): Promise<boolean>
  onLost(reason: LeaseLostError['reason']): void
}

/**
 * Keeps a lease alive while its owner runs: renews it at a third, again soon after a renewal that failed, and aborts
 * `signal` while the lease still has a tenth to go. Its timers keep no process alive.
 */
export class Renewal {
  readonly #options: RenewalOptions
  readonly #holdEndsAt: number
  #controller: AbortController | undefined
  #lost: LeaseLostError['reason'] | undefined
  #endsAt: number
  #renewAt: number
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: RenewalOptions) {
    const { startedAt, leaseMs, maxHoldMs = Number.POSITIVE_INFINITY, renews = true } = options
    this.#options = options
    this.#holdEndsAt = startedAt + maxHoldMs
    this.#endsAt = Math.min(startedAt + leaseMs, this.#holdEndsAt)
    this.#renewAt = this.#nextRenewal(startedAt)
    if (renews) this.#arm()
  }

  /** Made when it is read for the first time. A read after the end finds it aborted, though no timer ran in between. */
  get signal(): AbortSignal {
    this.check()
    this.#controller ??= this.#watched()
    return this.#controller.signal
  }

  /** When the lease ends, as far as this process knows. */
  get endsAt(): number {
    return this.#endsAt
  }

  /** Why the lease counts as lost, once it does. */
  get lost(): LeaseLostError['reason'] | undefined {
    return this.#lost
  }

  /** No renewal from now on, and no abort. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  /** Loses the lease if it is over by now: where nobody read `signal`, or the process stood still, no timer did. */
  check(): void {
    if (!this.#stopped && performance.now() >= this.#endsAt) this.#lose(this.#silence)
  }

  /** Prolongs the lease now. @returns whether it was still this owner's; rejects when nobody knows. */
  async renew(): Promise<boolean> {
    const sentAt = performance.now()
    const askMs = Math.min(this.#options.leaseMs, this.#holdEndsAt - sentAt)
    const renewed = await this.#options.renew(askMs)
    if (this.#stopped) return renewed
    if (renewed) {
      this.#endsAt = Math.max(this.#endsAt, sentAt + askMs)
      this.#renewAt = this.#nextRenewal(sentAt)
      this.#rearm()
    } else this.#lose('taken')
    return renewed
  }

  get #silentAt(): number {
    return this.#endsAt - this.#options.leaseMs / 10
  }

  get #silence(): LeaseLostError['reason'] {
    return this.#endsAt >= this.#holdEndsAt ? 'max-hold' : 'silence'
  }

  get #maxRunAt(): number {
    return this.#options.startedAt + this.#options.maxRunMs
  }

  #nextRenewal(sentAt: number): number {
    const { renews = true, leaseMs } = this.#options
    return renews && this.#endsAt < this.#holdEndsAt
      ? sentAt + leaseMs / 3
      : Number.POSITIVE_INFINITY
  }

  #watched(): AbortController {
    const controller = new AbortController()
    if (this.#lost) controller.abort(new LeaseLostError(this.#lost))
    else if (!this.#stopped && !this.#timer) this.#arm()
    return controller
  }

  #arm(): void {
    const next = Math.min(this.#renewAt, this.#silentAt, this.#maxRunAt)
    const delayMs = Math.min(LONGEST_TIMER_MS, Math.ceil(next - performance.now()))
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, delayMs)).unref()
  }

  #rearm(): void {
    if (!this.#timer) return
    clearTimeout(this.#timer)
    this.#arm()
  }

  #tick(): void {
    const now = performance.now()
    if (now >= this.#maxRunAt) this.#lose('max-run')
    else if (now >= this.#silentAt) this.#lose(this.#silence)
    else {
      if (now >= this.#renewAt) void this.#renewInTime()
      this.#arm()
    }
  }

  async #renewInTime(): Promise<void> {
    this.#renewAt = Number.POSITIVE_INFINITY
    const known = await this.renew().then(
      () => true,
      () => false,
    )
    if (known || this.#stopped) return
    this.#renewAt = performance.now() + this.#options.leaseMs / 20
    this.#rearm()
  }

  #lose(reason: LeaseLostError['reason']): void {
    this.stop()
    this.#lost = reason
    this.#options.onLost(reason)
    this.#controller?.abort(new LeaseLostError(reason))
  }
}

/** Longer ones fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647
