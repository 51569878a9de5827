import { BoundedRecords } from '../bounded-records.ts'
import type { Listening } from '../redis/messages.ts'
import { emptyLock, type Holder, type MemoryLock, ownFence } from './memory-lock.ts'
import { MemoryTurns } from './memory-turns.ts'
import type {
  AcquireReply,
  LockClaim,
  LockGrant,
  LockHolder,
  LockKeys,
  LockStore,
  PassReply,
  Place,
} from './store.ts'

/** What the memory store needs from its bundle. */
export interface MemoryLockOptions {
  readonly maxKeys: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** Keeps leases in this process; one call is one step, since nothing in it waits. Twin of lua/lock/. */
export class MemoryLockStore implements LockStore {
  readonly remote = false
  readonly lines = true
  readonly #locks: BoundedRecords<MemoryLock>
  readonly #now: () => number
  readonly #turns = new MemoryTurns()
  #lastFence = 0
  #lastArrival = 0
  #sweeper: NodeJS.Timeout | undefined

  constructor({ maxKeys, now }: MemoryLockOptions) {
    this.#locks = new BoundedRecords(maxKeys)
    this.#now = now
  }

  check(): void {}

  async acquire(keys: LockKeys, claim: LockClaim, place?: Place): Promise<AcquireReply> {
    const now = this.#now()
    const locks = keys.map((key) => this.#read(key, now))
    const leftMs = locks.reduce(
      (longest, lock) => Math.max(longest, this.#leftMs(lock, claim.token, place, now)),
      0,
    )
    if (leftMs > 0) return this.#refused(keys[0], leftMs, place, now)
    const own = ownFence(locks, claim.token)
    const fence = own ?? this.#mintFence()
    try {
      for (const key of keys) this.#grant(key, claim, fence, place, now)
    } catch (full) {
      await this.release(keys, claim)
      throw full
    }
    return { state: 'granted', fence }
  }

  async release(keys: LockKeys, { token }: LockClaim): Promise<boolean> {
    const now = this.#now()
    let all = true
    for (const key of keys) {
      const lock = this.#read(key, now)
      if (lock?.holder?.token === token) this.#handOn(lock, now)
      else all = false
    }
    return all
  }

  async pass(
    key: string,
    { token }: LockGrant,
    next: LockClaim,
    place: Place,
    keepsTurn: boolean,
  ): Promise<PassReply> {
    const now = this.#now()
    const lock = this.#read(key, now)
    if (lock?.holder?.token !== token) {
      // Where the claim holds it already, this is the same step once more.
      const released = lock?.holder?.token === next.token
      return { released, next: await this.acquire([key], next, place) }
    }
    lock.holder = undefined
    if (place.since === undefined && !keepsTurn) lock.line.remove(place.waiter)
    const first = keepsTurn ? undefined : this.#firstBefore(lock, place, now)
    if (first) {
      this.#keepFor(lock, first, now)
      return { released: true, next: this.#refused(key, TURN_MS, place, now) }
    }
    const fence = this.#mintFence()
    this.#grant(key, next, fence, keepsTurn ? undefined : place, now)
    return { released: true, next: { state: 'granted', fence } }
  }

  async extend(keys: LockKeys, { token }: LockGrant, leaseMs: number): Promise<boolean> {
    const now = this.#now()
    const locks = keys.map((key) => this.#read(key, now))
    if (locks.some((lock) => lock?.holder?.token !== token)) return false
    for (const lock of locks) if (lock?.holder) this.#prolong(lock, lock.holder, leaseMs, now)
    return true
  }

  async leave(key: string, waiter: string): Promise<void> {
    const now = this.#now()
    const lock = this.#read(key, now)
    if (!lock) return
    lock.line.remove(waiter)
    if (lock.turn?.waiter === waiter) this.#handOn(lock, now)
    else this.#write(lock, now)
  }

  async inspect(key: string): Promise<LockHolder | undefined> {
    const now = this.#now()
    const lock = this.#read(key, now)
    if (!lock?.holder) return undefined
    const { fence, metadata, grantedAt, endsAt } = lock.holder
    const waiters = lock.line.alive(now)
    const heldMs = Math.floor(now - grantedAt)
    return { fence, metadata, heldMs, remainingMs: Math.floor(endsAt - now), waiters }
  }

  listen(key: string, waiter: string, onTurn: () => void): Listening {
    return this.#turns.listen(key, waiter, onTurn)
  }

  close(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** What is left of a lock: a lease or a turn that is over is nobody's. */
  #read(key: string, now: number): MemoryLock | undefined {
    const lock = this.#locks.get(key, now)
    if (lock?.holder && lock.holder.endsAt <= now) lock.holder = undefined
    if (lock?.turn && lock.turn.endsAt <= now) lock.turn = undefined
    return lock
  }

  /** How long until the lock may be free for this claim; 0: now. A lock that is free is kept for the first in line. */
  #leftMs(
    lock: MemoryLock | undefined,
    token: string,
    place: Place | undefined,
    now: number,
  ): number {
    if (!lock || lock.holder?.token === token) return 0
    if (lock.holder) return lock.holder.endsAt - now
    if (lock.turn) return lock.turn.waiter === place?.waiter ? 0 : lock.turn.endsAt - now
    const first = this.#firstBefore(lock, place, now)
    if (!first) return 0
    this.#keepFor(lock, first, now)
    return TURN_MS
  }

  /** Who goes first, taken out of the line; undefined if that is the one who asks, or nobody. */
  #firstBefore(lock: MemoryLock, place: Place | undefined, now: number): string | undefined {
    if (place) lock.line.stand(place, this.#arrival(now), now)
    const first = lock.line.next(now)
    return first === place?.waiter ? undefined : first
  }

  #refused(key: string, leftMs: number, place: Place | undefined, now: number): AcquireReply {
    const lock = place && this.#locks.get(key, now)
    if (!lock) return { state: 'held', leftMs }
    const since = lock.line.stand(place, this.#arrival(now), now)
    this.#write(lock, now)
    return { state: 'held', leftMs, since }
  }

  #grant(
    key: string,
    claim: LockClaim,
    fence: number,
    place: Place | undefined,
    now: number,
  ): void {
    const { token, leaseMs, metadata } = claim
    const lock = this.#locks.get(key, now) ?? emptyLock(key)
    const grantedAt = lock.holder?.token === token ? lock.holder.grantedAt : now
    if (place) lock.line.remove(place.waiter)
    lock.turn = undefined
    lock.holder = { token, fence, metadata, grantedAt, endsAt: now + leaseMs }
    this.#write(lock, now)
  }

  #prolong(lock: MemoryLock, holder: Holder, leaseMs: number, now: number): void {
    lock.holder = { ...holder, endsAt: now + leaseMs }
    this.#write(lock, now)
  }

  /** The lock is free: for the next in line, or for anybody. */
  #handOn(lock: MemoryLock, now: number): void {
    lock.holder = undefined
    lock.turn = undefined
    const next = lock.line.next(now)
    if (next) this.#keepFor(lock, next, now)
    else this.#locks.delete(lock.id)
  }

  #keepFor(lock: MemoryLock, waiter: string, now: number): void {
    lock.turn = { waiter, endsAt: now + TURN_MS }
    this.#write(lock, now)
    this.#turns.call(lock.id, waiter)
  }

  #write(lock: MemoryLock, now: number): void {
    const heldUntil = lock.holder?.endsAt ?? lock.turn?.endsAt ?? now
    lock.expiresAt = Math.max(heldUntil, lock.line.aliveUntil)
    if (lock.expiresAt > now) this.#locks.set(lock, now)
    else this.#locks.delete(lock.id)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** Never twice the same, not even for different keys, and after those of an earlier process. */
  #mintFence(): number {
    this.#lastFence = Math.max(this.#lastFence + 1, Date.now() * 1000)
    return this.#lastFence
  }

  /** In microseconds, no two the same: who came first stands first. */
  #arrival(now: number): number {
    this.#lastArrival = Math.max(this.#lastArrival + 1, Math.floor(now * 1000))
    return this.#lastArrival
  }

  #sweep(): void {
    this.#locks.sweep(this.#now())
    if (this.#locks.size === 0) this.close()
  }
}

const TURN_MS = 500
const SWEEP_MS = 60_000
