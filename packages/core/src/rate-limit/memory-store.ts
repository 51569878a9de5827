import { algorithmOf, fits, remaining, standing } from './algorithms/standing.ts'
import { BoundedSubjects, type Subject } from './bounded-subjects.ts'
import type { Policy } from './policy.ts'
import type { Quota, RateLimitStore, Standing } from './store.ts'

/** What the memory store needs from its bundle. */
export interface MemoryOptions {
  readonly maxKeys: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** Keeps spent quota in this process; one call is one step, since nothing in it waits. */
export class MemoryRateLimitStore implements RateLimitStore {
  readonly remote = false
  readonly #subjects: BoundedSubjects
  readonly #now: () => number
  readonly #prefixes = new WeakMap<Quota, readonly string[]>()
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: MemoryOptions) {
    this.#subjects = new BoundedSubjects(options.maxKeys)
    this.#now = options.now
  }

  async consume(quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const now = Math.floor(this.#now())
    const seen = this.#read(quota, subject, now)
    const all = seen.every(({ policy, state }) => fits(state, policy, now, cost))
    return seen.map(({ policy, key, stored, state }) => {
      const algorithm = algorithmOf(policy)
      const allowed = all || fits(state, policy, now, cost)
      const after = all ? algorithm.charge(state, policy, now, cost) : state
      const delayMs = all ? algorithm.delayMs(after, policy, now, cost) : 0
      if (all) this.#write(key, after, policy, now)
      else if (stored) this.#refuse(key, stored, state, policy, now)
      return standing(after, policy, now, { allowed, cost, delayMs })
    })
  }

  async peek(quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const now = Math.floor(this.#now())
    const seen = this.#read(quota, subject, now)
    const all = seen.every(({ policy, state }) => fits(state, policy, now, cost))
    return seen.map(({ policy, state }) => {
      const allowed = all || fits(state, policy, now, cost)
      const delayMs = all ? algorithmOf(policy).delayMs(state, policy, now, 0) : 0
      return standing(state, policy, now, { allowed, cost, delayMs })
    })
  }

  async refund(quota: Quota, subject: string, cost: number): Promise<void> {
    const now = Math.floor(this.#now())
    for (const { policy, key, stored, state } of this.#read(quota, subject, now)) {
      if (!stored) continue
      const after = algorithmOf(policy).refund(state, policy, now, cost)
      if (after === undefined) this.#subjects.delete(key)
      else this.#write(key, after, policy, now)
    }
  }

  async reset(quota: Quota, subject: string): Promise<void> {
    for (const prefix of this.#prefixesOf(quota)) this.#subjects.delete(prefix + subject)
  }

  close(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  #read(quota: Quota, subject: string, now: number) {
    const prefixes = this.#prefixesOf(quota)
    return quota.policies.map((policy, index) => {
      const key = `${prefixes[index]}${subject}`
      const stored = this.#subjects.get(key, now)
      return { policy, key, stored, state: algorithmOf(policy).read(stored?.state, policy, now) }
    })
  }

  #write(key: string, state: unknown, policy: Policy, now: number): void {
    const { keepMs, resetMs } = algorithmOf(policy)
    const expiresAt = now + (keepMs ?? resetMs)(state, policy, now)
    this.#subjects.set(key, { state, expiresAt, refusedUntil: overUntil(state, policy, now) }, now)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** A refusal spends nothing, so it moves nothing on; but what is stored is kept for as long as it counts by this policy. */
  #refuse(key: string, stored: Subject, state: unknown, policy: Policy, now: number): void {
    const { refused, resetMs } = algorithmOf(policy)
    const expiresAt = now + resetMs(state, policy, now)
    const kept = refused
      ? { state: refused(state), expiresAt }
      : { state: stored.state, expiresAt: Math.max(stored.expiresAt, expiresAt) }
    this.#subjects.set(key, { ...kept, refusedUntil: overUntil(state, policy, now) }, now)
  }

  #sweep(): void {
    this.#subjects.sweep(Math.floor(this.#now()))
    if (this.#subjects.size === 0) this.close()
  }

  /** Lengths in front of names: no two quotas and subjects share a key, whatever characters they hold. */
  #prefixesOf(quota: Quota): readonly string[] {
    let prefixes = this.#prefixes.get(quota)
    if (!prefixes) {
      prefixes = quota.policies.map(
        ({ algorithm, name }) =>
          `${quota.name.length}:${quota.name}${name.length}:${name}${algorithm}:`,
      )
      this.#prefixes.set(quota, prefixes)
    }
    return prefixes
  }
}

/** Until when not even one unit fits; 0 where one does, or never will. */
function overUntil(state: unknown, policy: Policy, now: number): number {
  if (policy.limit === 0 || remaining(state, policy, now) > 0) return 0
  return now + algorithmOf(policy).waitMs(state, policy, now, 1)
}

const SWEEP_MS = 60_000
