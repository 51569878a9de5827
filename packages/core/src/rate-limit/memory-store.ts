import { algorithmOf, fits, remaining, standing } from './algorithms/standing.ts'
import { BoundedSubjects, type Space, type Subject } from './bounded-subjects.ts'
import { keptKey } from './kept-key.ts'
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
  readonly #spaces = new WeakMap<Quota, readonly PolicySpace[]>()
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: MemoryOptions) {
    this.#subjects = new BoundedSubjects(options.maxKeys)
    this.#now = options.now
  }

  consume(quota: Quota, subject: string, cost: number): readonly Standing[] {
    const now = Math.floor(this.#now())
    const key = keptKey(subject)
    const spaces = this.#spacesOf(quota)
    if (spaces.length === 1) {
      const only = this.#seeOne(spaces[0] as PolicySpace, key, now, cost)
      return [this.#settle(only, key, now, cost, only.allowed)]
    }
    const seen = this.#see(quota, key, now, cost)
    const all = seen.every(isAdmitted)
    return seen.map((one) => this.#settle(one, key, now, cost, all))
  }

  async peek(quota: Quota, subject: string, cost: number): Promise<readonly Standing[]> {
    const now = Math.floor(this.#now())
    const seen = this.#see(quota, keptKey(subject), now, cost)
    const all = seen.every(isAdmitted)
    return seen.map(({ policy, state, allowed }) => {
      const delayMs = all ? algorithmOf(policy).delayMs(state, policy, now, 0) : 0
      return standing(state, policy, now, { allowed, cost, delayMs })
    })
  }

  async refund(quota: Quota, subject: string, cost: number): Promise<void> {
    const now = Math.floor(this.#now())
    const key = keptKey(subject)
    for (const { policy, space, stored, state } of this.#see(quota, key, now, cost)) {
      if (!stored) continue
      const after = algorithmOf(policy).refund(state, policy, now, cost)
      if (after === undefined) this.#subjects.delete(space, key)
      else this.#write(space, key, after, policy, now)
    }
  }

  async reset(quota: Quota, subject: string): Promise<void> {
    const key = keptKey(subject)
    for (const { space } of this.#spacesOf(quota)) this.#subjects.delete(space, key)
  }

  close(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  #see(quota: Quota, key: string, now: number, cost: number): Seen[] {
    return this.#spacesOf(quota).map((one) => this.#seeOne(one, key, now, cost))
  }

  #seeOne({ policy, space }: PolicySpace, key: string, now: number, cost: number): Seen {
    const stored = this.#subjects.get(space, key, now)
    const state = algorithmOf(policy).read(stored?.state, policy, now)
    return { policy, space, stored, state, allowed: fits(state, policy, now, cost) }
  }

  /** Charges one policy, if all admit the cost, and says where it stands then. */
  #settle(seen: Seen, key: string, now: number, cost: number, all: boolean): Standing {
    const { policy, space, stored, state, allowed } = seen
    if (!all) {
      if (stored) this.#refuse(space, key, stored, state, policy, now)
      return standing(state, policy, now, { allowed, cost, delayMs: 0 })
    }
    const algorithm = algorithmOf(policy)
    const after = algorithm.charge(state, policy, now, cost)
    this.#write(space, key, after, policy, now)
    const delayMs = algorithm.delayMs(after, policy, now, cost)
    return standing(after, policy, now, { allowed, cost, delayMs })
  }

  #write(space: Space, key: string, state: unknown, policy: Policy, now: number): void {
    const { keepMs, resetMs } = algorithmOf(policy)
    const expiresAt = now + (keepMs ?? resetMs)(state, policy, now)
    const refusedUntil = overUntil(state, policy, now)
    this.#subjects.set(space, key, { state, expiresAt, refusedUntil }, now)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** A refusal spends nothing, so it moves nothing on; but what is stored is kept for as long as it counts by this policy. */
  #refuse(
    space: Space,
    key: string,
    stored: Subject,
    state: unknown,
    policy: Policy,
    now: number,
  ): void {
    const { refused, resetMs } = algorithmOf(policy)
    const resetAt = now + resetMs(state, policy, now)
    const after = refused ? refused(state) : stored.state
    const mustStay = resetAt > stored.expiresAt + CLOCK_SLACK_MS
    const expiresAt = refused || mustStay ? resetAt : stored.expiresAt
    const refusedUntil = overUntil(state, policy, now)
    this.#subjects.set(space, key, { state: after, expiresAt, refusedUntil }, now)
  }

  #sweep(): void {
    this.#subjects.sweep(Math.floor(this.#now()))
    if (this.#subjects.size === 0) this.close()
  }

  /** Lengths in front of names: no two quotas and policies share a space, whatever characters they hold. */
  #spacesOf(quota: Quota): readonly PolicySpace[] {
    let spaces = this.#spaces.get(quota)
    if (!spaces) {
      spaces = quota.policies.map((policy) => {
        const { algorithm, name } = policy
        const space = `${quota.name.length}:${quota.name}${algorithm}:${name}`
        return { policy, space: this.#subjects.space(space) }
      })
      this.#spaces.set(quota, spaces)
    }
    return spaces
  }
}

interface PolicySpace {
  readonly policy: Policy
  readonly space: Space
}

/** One policy, and where a subject stands under it before the call. */
interface Seen extends PolicySpace {
  readonly stored: Subject | undefined
  readonly state: unknown
  readonly allowed: boolean
}

function isAdmitted({ allowed }: Seen): boolean {
  return allowed
}

/** Until when not even one unit fits; 0 where one does, or never will. */
function overUntil(state: unknown, policy: Policy, now: number): number {
  if (policy.limit === 0 || remaining(state, policy, now) > 0) return 0
  return now + algorithmOf(policy).waitMs(state, policy, now, 1)
}

const SWEEP_MS = 60_000
/** What the scripts let pass, since a server reads its clock and its TTLs at different moments. */
const CLOCK_SLACK_MS = 100
