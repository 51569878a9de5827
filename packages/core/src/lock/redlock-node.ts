import type { RedisPort } from '../redis/client.ts'
import { probe } from '../redis/probe.ts'
import { CircuitBreaker } from '../resilience/circuit-breaker.ts'
import { StoreGuard } from '../resilience/guard.ts'
import type { RedisLockStore } from './redis-store.ts'
import type { AcquireReply, LockClaim, LockKeys } from './store.ts'

/** One of several masters: with a deadline and a circuit of its own, so that a dead one costs the others nothing. */
export class RedlockNode {
  readonly store: RedisLockStore
  readonly #guard: StoreGuard
  readonly #circuit: CircuitBreaker

  constructor(redis: RedisPort, store: RedisLockStore, prefix: string) {
    const key = `${prefix}:probe:redlock`
    this.store = store
    this.#circuit = new CircuitBreaker(() => probe(redis, key))
    this.#guard = new StoreGuard(NODE_DEADLINE_MS, this.#circuit)
  }

  /** @throws StoreUnavailableError (`store-unavailable`): it may have happened, or still will. */
  ask<T>(operation: string, ask: (store: RedisLockStore) => Promise<T>): Promise<T> {
    return this.#guard.call(`redlock.${operation}`, () => ask(this.store))
  }

  /** As {@link ask}; a grant that comes when the attempt is over is given back. */
  claim(keys: LockKeys, claim: LockClaim, attempt: Attempt): Promise<AcquireReply> {
    return this.ask('acquire', (store) => {
      const asked = store.acquire(keys, claim)
      attempt.begin()
      asked
        .then((reply) => {
          if (attempt.over && reply.state === 'granted') return store.release(keys, claim)
        })
        .catch(() => {}) // the lease lapses
        .finally(() => attempt.end())
      return asked
    })
  }

  close(): void {
    this.store.close()
    this.#circuit.close()
  }
}

/**
 * Less than the default deadline of a locker, so that it is told which masters failed. It holds up a call only where
 * those that answered are no majority.
 */
const NODE_DEADLINE_MS = 400

/** A claim that is under way at several masters. Some may answer long after the others have decided. */
export class Attempt {
  /** Nobody wants its grants any more. */
  over = false
  #underWay = 0
  readonly #ended: (attempt: Attempt) => void

  /** `ended` is called when nobody owes an answer any more. */
  constructor(ended: (attempt: Attempt) => void) {
    this.#ended = ended
  }

  begin(): void {
    this.#underWay++
  }

  end(): void {
    if (--this.#underWay === 0) this.#ended(this)
  }
}
