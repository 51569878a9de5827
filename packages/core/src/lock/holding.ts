import { LeaseLostError } from '../errors.ts'
import { emit } from '../events.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import { Renewal } from '../resilience/renewal.ts'
import { retryUntil } from '../resilience/retry.ts'
import type { LockReleasedEvent } from './event.ts'
import { hashKeys, type TimedGrant } from './grant.ts'
import type { Lease } from './lease.ts'
import type { LockKeys } from './store.ts'

/** What a lease needs to know of its grant. */
export interface Hold {
  readonly port: GuardedPort<'lock'>
  /** As the caller named it. */
  readonly key: string | readonly string[]
  readonly keys: LockKeys
  readonly grant: TimedGrant
  readonly maxHoldMs: number
  readonly renews: boolean
  readonly giver: Giver
}

/** Who granted the lease. */
interface Giver {
  /** Gives it back, and wakes who is next; whether it was still this owner's. */
  giveBack(keys: LockKeys, grant: TimedGrant): Promise<boolean>
}

/** A lock that was granted, until it is released. */
export class Holding implements Lease {
  readonly #hold: Hold
  readonly #renewal: Renewal
  #released: Promise<'released' | 'already-lost'> | undefined

  constructor(hold: Hold) {
    this.#hold = hold
    const { port, keys, grant, maxHoldMs, renews } = hold
    this.#renewal = new Renewal({
      startedAt: grant.startedAt,
      leaseMs: grant.leaseMs,
      maxRunMs: Number.POSITIVE_INFINITY,
      maxHoldMs,
      renews,
      renew: (askMs) => port.ask('extend', (store) => store.extend(keys, grant, askMs)),
      onLost: (reason) =>
        emit('sluice:lock', () => ({ type: 'lease-lost', ...this.#about(), reason })),
    })
  }

  get key(): string | readonly string[] {
    return this.#hold.key
  }

  get token(): string {
    return this.#hold.grant.token
  }

  get fence(): number {
    return this.#hold.grant.fence
  }

  get signal(): AbortSignal {
    return this.#renewal.signal
  }

  remainingMs(): number {
    if (this.#released !== undefined || this.#renewal.lost) return 0
    return this.#renewal.endsAt - performance.now()
  }

  async extend(): Promise<void> {
    this.#checkOwned()
    if (!(await this.#renewal.renew())) throw new LeaseLostError('taken')
    this.#checkOwned() // it may have been over before the answer came, or by then
  }

  release(): Promise<'released' | 'already-lost'> {
    this.#released ??= this.#release()
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => {}) // reported by an event, and tried again
  }

  #checkOwned(): void {
    this.#renewal.check()
    const lost = this.#released === undefined ? this.#renewal.lost : 'taken'
    if (lost) throw new LeaseLostError(lost)
  }

  async #release(): Promise<'released' | 'already-lost'> {
    this.#renewal.stop()
    const { keys, grant, giver } = this.#hold
    const holdMs = performance.now() - grant.startedAt
    try {
      const outcome = outcomeOf(await giver.giveBack(keys, grant))
      this.#report(holdMs, outcome)
      return outcome
    } catch (error) {
      emit('sluice:lock', () => ({ type: 'release-delayed', ...this.#about(), error }))
      void this.#retry(holdMs)
      throw error
    }
  }

  /** After its end the lease is in nobody's way: no more attempts then. */
  async #retry(holdMs: number): Promise<void> {
    const { port, keys, grant } = this.#hold
    const released = await retryUntil(
      this.#renewal.endsAt,
      () => port.ask('release', (store) => store.release(keys, grant)),
      LONGEST_PAUSE_MS,
    )
    // Before the end of the lease only its owner ends it: what is gone by now went with the first attempt.
    this.#report(holdMs, released === undefined ? 'unknown' : 'released')
  }

  #report(holdMs: number, outcome: LockReleasedEvent['outcome']): void {
    emit('sluice:lock', () => ({
      type: 'released',
      ...this.#about(),
      holdMs,
      leaseRatio: holdMs / this.#hold.grant.leaseMs,
      outcome,
    }))
  }

  #about(): Pick<LockReleasedEvent, 'keyHash' | 'fence'> {
    return { keyHash: hashKeys(this.#hold.keys), fence: this.fence }
  }
}

/** Somebody may be waiting for it. */
const LONGEST_PAUSE_MS = 300

function outcomeOf(released: boolean): 'released' | 'already-lost' {
  return released ? 'released' : 'already-lost'
}
