import { setTimeout } from 'node:timers/promises'
import {
  createLocker,
  type Locker,
  type LockerOptions,
  memoryStore,
  type Store,
} from '@sluice/core'
import { MemoryLockStore } from '../../src/lock/memory-store.ts'
import type {
  AcquireReply,
  LockClaim,
  LockGrant,
  LockHolder,
  LockKeys,
  LockStore,
  PassReply,
  Place,
} from '../../src/lock/store.ts'
import type { Listening } from '../../src/redis/messages.ts'

type Operation = 'acquire' | 'release' | 'pass' | 'extend' | 'leave' | 'inspect'

/** What becomes of one call, where it is not answered at once. */
export type Fate =
  | 'fails'
  | Error
  /** It has happened, and its answer never comes. */
  | 'loses its reply'
  /** It never happens, and no answer comes. */
  | 'loses its request'
  /** It happens when `until` does, and is answered then. */
  | { readonly until: Promise<void> }
  /** It happens now, and is answered then. */
  | { readonly answered: Promise<void> }
  /** It happens now, and its client sends it again then. */
  | { readonly again: Promise<void> }

/** A server's memory, on which the stores of several processes work. */
export function server(): MemoryLockStore {
  return new MemoryLockStore({ maxKeys: 1000, now: () => performance.now() })
}

/** A process's view of a server that can be slow and lossy. */
export class FarStore implements LockStore {
  readonly remote = true
  readonly lines: boolean
  readonly calls: Operation[] = []
  readonly #server: MemoryLockStore
  readonly #fates = new Map<Operation, Fate[]>()
  /** Every call, until it is mended. */
  broken: Fate | undefined
  /** Calls of turns get lost. */
  deaf = false
  replicas: number | undefined
  /** How long they take to say so. */
  replicatedAfterMs = 0

  constructor(of: MemoryLockStore = server(), lines = true) {
    this.#server = of
    this.lines = lines
  }

  /** What becomes of the next calls of this operation. */
  next(operation: Operation, ...fates: readonly Fate[]): void {
    this.#fates.set(operation, [...(this.#fates.get(operation) ?? []), ...fates])
  }

  /** From now on everything is answered. */
  clear(): void {
    this.#fates.clear()
    this.broken = undefined
  }

  /** How often it was called, all in all or for this. */
  count(operation?: Operation): number {
    return this.calls.filter((call) => !operation || call === operation).length
  }

  locker(options: Omit<LockerOptions, 'store'> = {}): Locker {
    return createLocker({ ...options, store: bundle(this) })
  }

  check(): void {}

  acquire(keys: LockKeys, claim: LockClaim, place?: Place): Promise<AcquireReply> {
    return this.#call('acquire', () => this.#server.acquire(keys, claim, place))
  }

  release(keys: LockKeys, grant: LockClaim): Promise<boolean> {
    return this.#call('release', () => this.#server.release(keys, grant))
  }

  pass(
    key: string,
    grant: LockGrant,
    next: LockClaim,
    place: Place,
    keepsTurn: boolean,
  ): Promise<PassReply> {
    return this.#call('pass', () => this.#server.pass(key, grant, next, place, keepsTurn))
  }

  extend(keys: LockKeys, grant: LockGrant, leaseMs: number): Promise<boolean> {
    return this.#call('extend', () => this.#server.extend(keys, grant, leaseMs))
  }

  leave(key: string, waiter: string): Promise<void> {
    return this.#call('leave', () => this.#server.leave(key, waiter))
  }

  inspect(key: string): Promise<LockHolder | undefined> {
    return this.#call('inspect', () => this.#server.inspect(key))
  }

  listen(key: string, waiter: string, onTurn: () => void): Listening {
    return this.#server.listen(key, waiter, () => {
      if (!this.deaf) onTurn()
    })
  }

  async replicated(): Promise<number> {
    await setTimeout(this.replicatedAfterMs)
    return this.replicas ?? 0
  }

  async #call<T>(operation: Operation, ask: () => Promise<T>): Promise<T> {
    this.calls.push(operation)
    const fate = this.#fates.get(operation)?.shift() ?? this.broken
    if (fate === undefined) return ask()
    if (fate === 'fails') throw new Error('the connection broke')
    if (fate instanceof Error) throw fate
    const reply = fate === 'loses its request' ? undefined : await this.#asked(fate, ask)
    return reply === undefined ? new Promise(() => {}) : reply.value
  }

  async #asked<T>(
    fate: Exclude<Fate, Error>,
    ask: () => Promise<T>,
  ): Promise<{ value: T } | undefined> {
    if (typeof fate === 'object' && 'until' in fate) {
      await fate.until
      return { value: await ask() }
    }
    const value = await ask()
    if (typeof fate !== 'object') return undefined
    if ('answered' in fate) {
      await fate.answered
      return { value }
    }
    await fate.again
    return { value: await ask() }
  }
}

function bundle(lock: LockStore): Store {
  return { ...memoryStore(), lock }
}
