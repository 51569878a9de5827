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

/** Brings the standings of all policies together into one decision. On every request's way: plain loops. */
export function decide(
  policies: readonly Policy[],
  standings: readonly Standing[],
  source: DecisionSource,
): Decision {
  const states: PolicyState[] = []
  let telling: PolicyState | undefined
  let delayMs = 0
  for (let index = 0; index < policies.length; index++) {
    const policy = policies[index]
    const standing = standings[index]
    if (!policy || !standing) throw new TypeError(`a store gave no standing for policy ${index}`)
    const state = describe(policy, standing)
    states.push(state)
    if (!telling || tellsMore(state, telling)) telling = state
    if (standing.delayMs > delayMs) delayMs = standing.delayMs
  }
  if (!telling) throw new TypeError('a decision needs at least one policy')
  const { allowed, name, limit, remaining, retryAfterMs, resetMs } = telling
  return {
    allowed,
    policy: name,
    limit,
    remaining,
    retryAfterMs,
    resetMs,
    delayMs: allowed ? delayMs : 0,
    source,
    policies: states,
  }
}

function describe(policy: Policy, standing: Standing): PolicyState {
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

/** A refusal tells more than an admission, a longer wait more than a shorter one, else what is nearer to its limit. */
function tellsMore(a: PolicyState, b: PolicyState): boolean {
  if (a.allowed !== b.allowed) return b.allowed
  return a.allowed ? a.remaining < b.remaining : a.retryAfterMs > b.retryAfterMs
}
