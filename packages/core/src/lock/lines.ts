import type { GuardedPort } from '../resilience/guarded-port.ts'
import { newToken } from '../token.ts'
import { Caller, type Taken, type Wait } from './caller.ts'
import type { TimedGrant } from './grant.ts'
import { Line } from './line.ts'
import type { LockStore } from './store.ts'

/** The lines of this process in one store, whichever lockers they serve. */
export class Lines {
  readonly #store: LockStore
  /** This process's name in the store's lines. */
  readonly #waiter: string = newToken()
  readonly #lines = new Map<string, Line>()
  #sweeper: NodeJS.Timeout | undefined

  private constructor(store: LockStore) {
    this.#store = store
  }

  static of(store: LockStore): Lines {
    const lines = ofStores.get(store) ?? new Lines(store)
    ofStores.set(store, lines)
    return lines
  }

  /** Resolves with a grant, or with the store's refusal when the wait is over. */
  wait(key: string, wait: Wait): Promise<Taken> {
    return new Promise((resolve, reject) => {
      wait.signal?.throwIfAborted() // a signal tells it once
      const line = this.#lines.get(key) ?? this.#open(key)
      line.enter(new Caller(wait, (caller) => line.leave(caller), resolve, reject))
    })
  }

  /** Gives a lease back: to the next in line, if there is one. */
  release(key: string, port: GuardedPort<'lock'>, grant: TimedGrant): Promise<boolean> {
    const line = this.#lines.get(key)
    if (!line) return port.ask('release', (store) => store.release([key], grant))
    const released = line.release(port, grant)
    if (line.isAsNew) this.#lines.delete(key)
    return released
  }

  /** The lease of this key is over. */
  freed(key: string): void {
    this.#lines.get(key)?.freed()
  }

  #open(key: string): Line {
    const line = new Line(key, this.#store, this.#waiter)
    this.#lines.set(key, line)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    return line
  }

  /** A line is kept for a while: who waited is likely to wait again, and need not subscribe again then. */
  #sweep(): void {
    for (const [key, line] of this.#lines) if (line.closeIfIdle()) this.#lines.delete(key)
    if (this.#lines.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}

const ofStores = new WeakMap<LockStore, Lines>()

const SWEEP_MS = 2000
