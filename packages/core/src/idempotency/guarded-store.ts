import { ConfigurationError } from '../errors.ts'
import { StoreGuard } from '../resilience/guard.ts'
import type { Store } from '../store.ts'
import type { IdempotencyStore } from './store.ts'

/** The store behind a deadline and its circuit, where a call leaves the process. */
export class GuardedStore {
  readonly #store: IdempotencyStore
  readonly #guard: StoreGuard

  /** @throws ConfigurationError (`configuration`) for a bundle that has no records to offer. */
  constructor(store: Store, timeoutMs: number) {
    if (!store.idempotency)
      throw new ConfigurationError('idempotency', 'store', store, 'a store that keeps records')
    this.#store = store.idempotency
    this.#guard = new StoreGuard(timeoutMs, store.circuit)
  }

  get raw(): IdempotencyStore {
    return this.#store
  }

  /** @throws StoreUnavailableError (`store-unavailable`), or the signal's reason: it may have happened, or still will. */
  ask<T>(
    operation: string,
    ask: (store: IdempotencyStore) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (!this.#store.remote) return ask(this.#store)
    return this.#guard.call(`idempotency.${operation}`, () => ask(this.#store), signal)
  }
}
