import type { Policy } from './policy.ts'
import type { Standing } from './store.ts'

/** Who decided: the store, the in-process memory of a recent refusal, or a mode of degradation. */
export type DecisionSource = 'store' | 'cache' | 'local' | 'open' | 'closed'

/** One policy's part of a {@link Decision}. */
export interface PolicyState {
  readonly name: string
  readonly allowed: boolean
  /** The limit or capacity. */
  readonly limit: number
  /** The window, or the time a bucket takes to fill, in milliseconds; Infinity for one that never ends. */
  readonly windowMs: number
  readonly remaining: number
  /** Milliseconds until this cost fits; 0 when allowed, Infinity when it never can. */
  readonly retryAfterMs: number
  /** Milliseconds until the full quota is back. */
  readonly resetMs: number
  /** Milliseconds until `remaining` grows; 0 when it is full. Never later than `retryAfterMs` of a refusal. */
  readonly nextMs: number
}

/** The answer to one request: a value, also when it is a refusal. */
export interface Decision {
  readonly allowed: boolean
  /** Name of the policy that refused (the longest wait), else of the one nearest to its limit. */
  readonly policy: string
  /** That policy's limit or capacity. */
  readonly limit: number
  /** What that policy has left, in whole units. */
  readonly remaining: number
  /** Milliseconds until the same cost passes; 0 when allowed, Infinity when it can never fit. */
  readonly retryAfterMs: number
  /** Milliseconds until that policy's full quota is back. */
  readonly resetMs: number
  /** Leaky bucket: milliseconds until this call's turn; else 0. */
  readonly delayMs: number
  readonly source: DecisionSource
  /** One a policy, in the order they were given. */
  readonly policies: readonly PolicyState[]
}

/** Brings the standings of all policies together into one decision. */
export function decide(
  policies: readonly Policy[],
  standings: readonly Standing[],
  source: DecisionSource,
): Decision {
  const states = policies.map((policy, index) => describe(policy, standings[index]))
  const refused = states.filter((state) => !state.allowed)
  const telling = refused.length > 0 ? refused.reduce(longerWait) : states.reduce(nearerToLimit)
  const allowed = refused.length === 0
  return {
    allowed,
    policy: telling.name,
    limit: telling.limit,
    remaining: telling.remaining,
    retryAfterMs: allowed ? 0 : telling.retryAfterMs,
    resetMs: telling.resetMs,
    delayMs: allowed ? Math.max(...standings.map((standing) => standing.delayMs)) : 0,
    source,
    policies: states,
  }
}

function describe(policy: Policy, standing: Standing | undefined): PolicyState {
  if (!standing) throw new TypeError(`the store gave no standing for policy ${policy.name}`)
  return {
    name: policy.name,
    allowed: standing.allowed,
    limit: policy.limit,
    windowMs: policy.windowMs,
    remaining: standing.remaining,
    retryAfterMs: standing.retryAfterMs,
    resetMs: standing.resetMs,
    nextMs: standing.nextMs,
  }
}

function longerWait(a: PolicyState, b: PolicyState): PolicyState {
  return b.retryAfterMs > a.retryAfterMs ? b : a
}

function nearerToLimit(a: PolicyState, b: PolicyState): PolicyState {
  return b.remaining < a.remaining ? b : a
}
