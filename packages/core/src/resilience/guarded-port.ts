import { ConfigurationError } from '../errors.ts'
import type { Store } from '../store.ts'
import { StoreGuard } from './guard.ts'

/** The capabilities of a store, by the names of their ports. */
export type Capability = Exclude<keyof Store, 'circuit' | 'close'>

/** The port of one capability, behind a deadline and the store's circuit where a call leaves the process. */
export class GuardedPort<Name extends Capability> {
  readonly raw: NonNullable<Store[Name]>
  readonly #name: Name
  readonly #guard: StoreGuard

  /** @throws ConfigurationError (`configuration`) for a store that has no such port. */
  constructor(store: Store, name: Name, timeoutMs: number) {
    const port = store[name]
    if (!port) throw new ConfigurationError(name, 'store', store, `a store that offers \`${name}\``)
    this.raw = port
    this.#name = name
    this.#guard = new StoreGuard(timeoutMs, store.circuit)
  }

  /** @throws StoreUnavailableError (`store-unavailable`), or the signal's reason: it may have happened, or still will. */
  ask<T>(
    operation: string,
    ask: (port: NonNullable<Store[Name]>) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (!this.raw.remote) return ask(this.raw)
    return this.#guard.call(`${this.#name}.${operation}`, () => ask(this.raw), signal)
  }
}
