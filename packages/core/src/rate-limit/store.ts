import type { Policy } from './policy.ts'

/** What a limiter counts: its name and its policies, made once and reused, so that a store may prepare things for it. */
export interface Quota {
  /** The limiter's name; limiters of one name on one store share what is spent. */
  readonly name: string
  readonly policies: readonly Policy[]
}

/** What a store says of one policy, after the call (durations from the store's present). */
export interface Standing {
  /** Whether this policy alone would admit the cost. */
  readonly allowed: boolean
  /** Whole units left. */
  readonly remaining: number
  /** Until this cost fits, if nobody else asks: 0 when allowed, Infinity when it can never fit. */
  readonly retryAfterMs: number
  /** Until the full quota is back; 0 when it is. */
  readonly resetMs: number
  /** Until `remaining` grows; 0 when it is full. */
  readonly nextMs: number
  /** Leaky bucket: until this call's turn; else 0. */
  readonly delayMs: number
}

/** A store in this process need not make its caller wait. */
export type Answer<T> = T | Promise<T>

/**
 * Keeps the spent quota. Four methods fix the whole contract; `contract/rate-limit-store.ts` tests it.
 *
 * - The store's clock decides, never the caller's.
 * - `consume` decides all policies in one atomic step: it charges every one of them or none.
 * - State belongs to (quota name, policy name, algorithm, subject); limits and windows are read from the call.
 * - A rejection means: it may or may not have happened.
 */
export interface RateLimitStore {
  /** True when a call leaves the process: such a store gets deadlines, a deny cache and degradation. */
  readonly remote: boolean
  /** Charges `cost` to every policy if all admit it, and answers one standing a policy, in order. */
  consume(quota: Quota, subject: string, cost: number): Answer<readonly Standing[]>
  /** Says what `consume` would decide, and changes nothing: `remaining` is what is left now. */
  peek(quota: Quota, subject: string, cost: number): Promise<readonly Standing[]>
  /** Gives back up to `cost` of what is spent; creates nothing, and leaves no policy below zero. */
  refund(quota: Quota, subject: string, cost: number): Promise<void>
  /** Forgets what this subject has spent. */
  reset(quota: Quota, subject: string): Promise<void>
}
