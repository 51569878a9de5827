import type { Decision, Policy, PolicyState } from '../../src/index.ts'

/** A decision over these policies; what matters to a test is given, the rest is an unspent quota. */
export function decisionOf(
  policies: readonly Policy[],
  states: readonly Partial<PolicyState>[] = [],
  decision: Partial<Decision> = {},
): Decision {
  const full = policies.map(
    (policy, index): PolicyState => ({
      name: policy.name,
      limit: policy.limit,
      windowMs: policy.windowMs,
      allowed: true,
      remaining: policy.limit,
      retryAfterMs: 0,
      resetMs: 0,
      nextMs: 0,
      ...states[index],
    }),
  )
  const [first] = full
  if (!first) throw new Error('a decision is about at least one policy')
  const allowed = full.every((state) => state.allowed)
  return {
    allowed,
    policy: first.name,
    limit: first.limit,
    remaining: first.remaining,
    retryAfterMs: Math.max(...full.map((state) => state.retryAfterMs)),
    resetMs: first.resetMs,
    delayMs: 0,
    source: 'store',
    policies: full,
    ...decision,
  }
}
