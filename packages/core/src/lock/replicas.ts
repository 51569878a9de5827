import { ConfigurationError, StoreUnavailableError } from '../errors.ts'
import { GuardedPort } from '../resilience/guarded-port.ts'
import type { Store } from '../store.ts'
import { tooLate } from './caller.ts'
import type { Lease } from './lease.ts'
import type { LockerOptions } from './locker.ts'
import { checkKeys } from './request.ts'

/** Refuses grants that too few replicas have: a failover could forget them. It makes that less likely, not impossible. */
export class Replicas {
  readonly #min: number
  readonly #waitMs: number
  readonly #port: GuardedPort<'lock'>

  /** @throws ConfigurationError (`configuration`) for a store that cannot ask its replicas. */
  constructor(
    store: Store,
    timeoutMs: number,
    { min, waitMs }: NonNullable<LockerOptions['replicas']>,
  ) {
    this.#min = min
    this.#waitMs = waitMs
    this.#port = new GuardedPort(store, 'lock', timeoutMs + waitMs)
    if (!this.#port.raw.replicated) throw cannotAsk(store)
  }

  /**
   * Gives the lease back, and throws, unless enough replicas have it.
   *
   * @throws StoreUnavailableError (`store-unavailable`)
   */
  async confirm(lease: Lease): Promise<void> {
    try {
      const keys = checkKeys('acquire', lease.key)
      const grant = { token: lease.token, leaseMs: lease.remainingMs() }
      const have = await this.#port.ask('replicated', async (store) =>
        store.replicated?.(keys, grant, this.#min, this.#waitMs),
      )
      if ((have ?? 0) < this.#min) throw tooFew(have ?? 0, this.#min)
      if (lease.remainingMs() <= 0) throw tooLate()
    } catch (error) {
      await lease[Symbol.asyncDispose]()
      throw error
    }
  }
}

function cannotAsk(store: Store): ConfigurationError {
  return new ConfigurationError(
    'createLocker',
    'replicas',
    store,
    'left out: only a store on one Redis master can ask its replicas',
  )
}

function tooFew(have: number, min: number): StoreUnavailableError {
  return new StoreUnavailableError('failure', `${have} of ${min} replicas confirmed the lock`)
}
