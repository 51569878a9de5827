import { ConfigurationError } from '../errors.ts'
import { emit } from '../events.ts'
import type { GuardedPort } from '../resilience/guarded-port.ts'
import { hashKeys } from './grant.ts'
import type {
  AcquireReply,
  LockClaim,
  LockGrant,
  LockKeys,
  LockStore,
  PassReply,
  Place,
} from './store.ts'

/** Sends a claim; what fails, or comes too late for the guard, is undone in the background, and never runs. */
export function claimOrCleanUp(
  port: GuardedPort<'lock'>,
  keys: LockKeys,
  claim: LockClaim,
  place?: Place,
  signal?: AbortSignal,
): Promise<AcquireReply> {
  // What cannot fail on the way has not happened when it fails.
  if (!port.raw.remote) return port.raw.acquire(keys, claim, place)
  let underWay: Promise<AcquireReply> | undefined
  const ask = (store: LockStore): Promise<AcquireReply> => {
    underWay = store.acquire(keys, claim, place)
    return underWay
  }
  return port.ask('acquire', ask, signal).catch((error: unknown) => {
    if (underWay !== undefined && !(error instanceof ConfigurationError))
      cleanUp(port, keys, claim, underWay)
    throw error
  })
}

/** Gives a lease back and claims the key again; what becomes of the claim is as above. */
export function passOrCleanUp(
  port: GuardedPort<'lock'>,
  key: string,
  grant: LockGrant,
  claim: LockClaim,
  place: Place,
  keepsTurn: boolean,
): Promise<PassReply> {
  if (!port.raw.remote) return port.raw.pass(key, grant, claim, place, keepsTurn)
  let underWay: Promise<PassReply> | undefined
  const ask = (store: LockStore): Promise<PassReply> => {
    underWay = store.pass(key, grant, claim, place, keepsTurn)
    return underWay
  }
  return port.ask('pass', ask).catch((error: unknown) => {
    const claimed = underWay?.then(({ next }) => next)
    if (claimed !== undefined) cleanUp(port, [key], claim, claimed)
    throw error
  })
}

/**
 * Undoes a claim of which nobody knows whether it took effect: by its token, at once, again until the store answers,
 * and from then on less and less often for as long as the claim could still arrive and its lease last: what a broken
 * connection still holds may come after the release that undoes it. A claim that its client still keeps back may be
 * sent at any time: when the client says what became of it, the work begins once more.
 */
function cleanUp(
  port: GuardedPort<'lock'>,
  keys: LockKeys,
  claim: LockClaim,
  underWay: Promise<AcquireReply>,
): void {
  const cleanup = new Cleanup(port, keys, claim, 'pending')
  underWay.then(
    ({ state }) => cleanup.settled(state),
    () => cleanup.settled('failed'),
  )
}

/** Undoes a grant of which it is known that it took effect. */
export function undoGrant(port: GuardedPort<'lock'>, keys: LockKeys, claim: LockClaim): void {
  new Cleanup(port, keys, claim, 'granted')
}

class Cleanup {
  readonly #port: GuardedPort<'lock'>
  readonly #keys: LockKeys
  readonly #claim: LockClaim
  #claimed: 'pending' | 'granted' | 'failed'
  /** Answers to what was sent in an earlier round say nothing in this one. */
  #round = 0
  #untilMs = 0
  #pauseMs = 0
  #timer: NodeJS.Timeout | undefined
  #outcome: 'released' | 'not-held' | 'lost' = 'lost'

  constructor(
    port: GuardedPort<'lock'>,
    keys: LockKeys,
    claim: LockClaim,
    claimed: 'pending' | 'granted',
  ) {
    this.#port = port
    this.#keys = keys
    this.#claim = claim
    this.#claimed = claimed
    this.#begin()
  }

  /** What the client says in the end. */
  settled(claimed: AcquireReply['state'] | 'failed'): void {
    if (claimed === 'held') {
      this.#round++
      this.#heard(false)
      this.#end()
    } else {
      this.#claimed = claimed
      this.#begin()
    }
  }

  #begin(): void {
    this.#round++
    this.#untilMs = performance.now() + this.#claim.leaseMs
    this.#pauseMs = FIRST_PAUSE_MS
    clearTimeout(this.#timer)
    void this.#attempt(this.#round)
  }

  async #attempt(round: number): Promise<void> {
    const released = await this.#port
      .ask('clean-up', (store) => store.release(this.#keys, this.#claim))
      .catch(() => undefined)
    if (released !== undefined) this.#heard(released)
    if (round !== this.#round) return
    if (released === undefined || !this.#isDone(released)) this.#again(released !== undefined)
    else if (this.#claimed !== 'pending') this.#end()
  }

  #heard(released: boolean): void {
    if (released) this.#outcome = 'released'
    else if (this.#outcome === 'lost') this.#outcome = 'not-held'
  }

  /** Where the claim has arrived, one answer says all. */
  #isDone(released: boolean): boolean {
    return released || this.#claimed === 'granted'
  }

  #again(answered: boolean): void {
    if (performance.now() >= this.#untilMs) {
      if (this.#claimed !== 'pending') this.#end()
      return
    }
    // A store that does not answer is asked often, so that little time passes once it does.
    const pauseMs = answered ? this.#pauseMs : Math.min(this.#pauseMs, LONGEST_SILENT_PAUSE_MS)
    this.#pauseMs *= 2
    // Those who failed together do not come back together.
    const waitMs = pauseMs * (0.5 + Math.random() / 2)
    const round = this.#round
    this.#timer = setTimeout(() => void this.#attempt(round), waitMs).unref()
  }

  #end(): void {
    clearTimeout(this.#timer)
    emit('sluice:lock', () => ({
      type: 'cleaned-up',
      keyHash: hashKeys(this.#keys),
      outcome: this.#outcome,
    }))
  }
}

const FIRST_PAUSE_MS = 50
const LONGEST_SILENT_PAUSE_MS = 300
