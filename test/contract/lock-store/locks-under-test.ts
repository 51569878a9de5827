import type { AcquireReply, LockClaim, LockGrant, LockHolder, LockStore, Place } from '@sluice/core'
import { expect, onTestFinished } from 'vitest'

/** A store under test, and its clock. */
export interface LockPlace extends AsyncDisposable {
  readonly store: LockStore
  /** Whether keys of different hash slots cannot be taken together. */
  readonly slots?: boolean
  advance(ms: number): Promise<void>
}

export const LEASE_MS = 30_000

/** What a store does for one who waits: it may be slow by so much. */
export const TURN_MS = 500
export const DEAD_AFTER_MS = 10_000

/** Fresh locks for each test, in the store under test. All of one test share a hash tag. */
export class LocksUnderTest {
  key = ''
  #place: LockPlace | undefined
  #tests = 0

  get place(): LockPlace {
    if (!this.#place) throw new Error('not open')
    return this.#place
  }

  get store(): LockStore {
    return this.place.store
  }

  open(place: LockPlace): void {
    this.#place = place
  }

  renew(): void {
    this.#tests++
    this.key = this.keyOf('order')
  }

  keyOf(name: string): string {
    return `{test-${this.#tests}}:${name}`
  }

  advance(ms: number): Promise<void> {
    return this.place.advance(ms)
  }

  async close(): Promise<void> {
    await this.#place?.[Symbol.asyncDispose]()
  }

  /** `place`: the waiter's name, or that and when it came. */
  acquire(token: string, place?: string | Place, key: string = this.key): Promise<AcquireReply> {
    return this.store.acquire([key], claimOf(token), placeOf(place))
  }

  async grant(token: string, place?: string | Place, key?: string): Promise<LockGrant> {
    const reply = await this.acquire(token, place, key)
    if (reply.state !== 'granted') throw new Error(`${token} was not granted ${this.key}`)
    return { ...claimOf(token), fence: reply.fence }
  }

  async refusal(token: string, place?: string | Place, key?: string) {
    const reply = await this.acquire(token, place, key)
    if (reply.state !== 'held') throw new Error(`${token} was granted ${this.key}`)
    return reply
  }

  /** Stands in line and listens; to be called while the lock is held. */
  async queue(...waiters: string[]): Promise<Woken> {
    const woken = new Woken(this)
    for (const waiter of waiters) {
      await woken.listen(waiter)
      expect((await this.refusal(waiter, waiter)).since).toBeGreaterThan(0)
    }
    return woken
  }

  release(token: string, key: string = this.key): Promise<boolean> {
    return this.store.release([key], claimOf(token))
  }

  inspect(): Promise<LockHolder | undefined> {
    return this.store.inspect(this.key)
  }
}

/** Whose turn the store announced, in order. */
export class Woken {
  readonly #names: string[] = []
  readonly #at: LocksUnderTest
  readonly #key: string

  constructor(at: LocksUnderTest) {
    this.#at = at
    this.#key = at.key
  }

  async listen(waiter: string, key: string = this.#key): Promise<void> {
    const listening = this.#at.store.listen(key, waiter, () => this.#names.push(waiter))
    onTestFinished(() => listening.close())
    await listening.ready
  }

  /** All that were woken since the last look; what is sent by the same way later arrives later. */
  async names(): Promise<readonly string[]> {
    const key = this.#at.keyOf('barrier')
    await this.#at.store.acquire([key], claimOf('one'))
    await this.#at.store.acquire([key], claimOf('two'), { waiter: 'barrier' })
    await new Promise<void>((resolve) => {
      const listening = this.#at.store.listen(key, 'barrier', () => {
        listening.close()
        resolve()
      })
      void listening.ready.then(() => this.#at.store.release([key], claimOf('one')))
    })
    await this.#at.store.leave(key, 'barrier')
    return this.#names.splice(0)
  }
}

export function claimOf(token: string, metadata = ''): LockClaim {
  return { token: token.padEnd(22, '_'), leaseMs: LEASE_MS, metadata }
}

function placeOf(place: string | Place | undefined): Place | undefined {
  return typeof place === 'string' ? { waiter: place } : place
}

/** Real time goes on below the test's clock. */
export function near(expectedMs: number): (ms: unknown) => boolean {
  return (ms) => Math.abs(Number(ms) - expectedMs) < 3000
}
