import type { GuardedPort } from '../resilience/guarded-port.ts'
import { Renewal } from '../resilience/renewal.ts'
import { newToken } from '../token.ts'
import { noAnswer, type Taken, type Wait } from './caller.ts'
import { undoGrant } from './cleanup.ts'
import type { TimedGrant } from './grant.ts'
import type { Lines } from './lines.ts'
import type { LockClaim, LockKeys } from './store.ts'
import { takeOnce } from './taking.ts'
import { WaitLimit } from './wait-limit.ts'

/**
 * Takes several locks, all or none. Where one step cannot take all of them, it stands in line for one after the other,
 * in the order of the keys, which is the same everywhere, so that no two wait for each other; what it has meanwhile is
 * renewed. A last step makes sure of all of them, and gives them one fence.
 */
export async function takeSeveral(lines: Lines, keys: LockKeys, wait: Wait): Promise<Taken> {
  const limit = new WaitLimit(wait)
  let last: { readonly leftMs: number } | undefined
  try {
    for (;;) {
      const claim = { ...wait.claim, token: newToken() }
      const taken = await takeOnce({ port: wait.port, claim, signal: limit.signal }, keys)
      if ('fence' in taken) return taken
      last = taken
      const gathered = await new Gathering(lines, wait.port, claim, limit).take(keys)
      if (gathered) return gathered
    }
  } catch (reason) {
    if (reason !== WaitLimit.reached) throw reason
    if (last) return last
    throw noAnswer(wait.waitMs)
  } finally {
    limit.end()
  }
}

/** Locks that are taken one after the other, under one token. */
class Gathering {
  readonly #lines: Lines
  readonly #port: GuardedPort<'lock'>
  readonly #claim: LockClaim
  readonly #limit: WaitLimit
  readonly #lost = new AbortController()
  readonly #held: string[] = []
  #renewal: Renewal | undefined

  constructor(lines: Lines, port: GuardedPort<'lock'>, claim: LockClaim, limit: WaitLimit) {
    this.#lines = lines
    this.#port = port
    this.#claim = claim
    this.#limit = limit
  }

  /** Undefined when one of them was lost meanwhile. */
  async take(keys: LockKeys): Promise<Taken | undefined> {
    let taken: Taken | undefined
    try {
      taken = await this.#gather(keys)
      return taken
    } catch (reason) {
      if (reason === LOST) return undefined
      throw reason
    } finally {
      this.#renewal?.stop()
      if (!taken || !('fence' in taken)) this.#giveBack()
    }
  }

  async #gather(keys: LockKeys): Promise<Taken | undefined> {
    const signal = AbortSignal.any([this.#limit.signal, this.#lost.signal])
    for (const key of keys) {
      const one = await this.#standInLine(key, signal)
      if (!('fence' in one)) return one
      this.#held.push(key)
      this.#renewal ??= this.#keep(one)
    }
    const all = await takeOnce({ port: this.#port, claim: this.#claim, signal }, keys)
    return 'fence' in all ? all : undefined
  }

  #standInLine(key: string, signal: AbortSignal): Promise<Taken> {
    const waitMs = Math.max(1, Math.ceil(this.#limit.untilMs - performance.now()))
    // All have one token, or the last step would not know them for its own.
    const wait = { port: this.#port, claim: this.#claim, waitMs, signal, renewable: false }
    return this.#lines.wait(key, wait)
  }

  #keep({ startedAt, leaseMs, fence }: TimedGrant): Renewal {
    return new Renewal({
      startedAt,
      leaseMs,
      maxRunMs: Number.POSITIVE_INFINITY,
      renew: (askMs) =>
        this.#port.ask('extend', (store) =>
          store.extend(this.#keys(), { ...this.#claim, fence }, askMs),
        ),
      onLost: () => this.#lost.abort(LOST),
    })
  }

  #keys(): LockKeys {
    return this.#held as unknown as LockKeys
  }

  #giveBack(): void {
    if (this.#held.length === 0) return
    const keys = this.#keys()
    this.#port
      .ask('release', (store) => store.release(keys, this.#claim))
      .catch(() => undoGrant(this.#port, keys, this.#claim))
      .finally(() => {
        for (const key of keys) this.#lines.freed(key)
      })
  }
}

/** Why a gathering ends that has lost what it had. */
const LOST = Symbol('a lock was lost')
