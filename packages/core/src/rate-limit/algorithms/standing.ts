import type { Algorithm, Policy } from '../policy.ts'
import type { Standing } from '../store.ts'
import type { CountingAlgorithm } from './algorithm.ts'
import { leakyBucketAlgorithm, tokenBucketAlgorithm } from './bucket.ts'
import { fixedWindowAlgorithm } from './fixed-window.ts'
import { slidingLogAlgorithm } from './sliding-log.ts'
import { slidingWindowAlgorithm } from './sliding-window.ts'

/** The algorithm of a policy; its state is opaque to everyone else. */
export function algorithmOf(policy: Policy): CountingAlgorithm<unknown> {
  return algorithms[policy.algorithm] as CountingAlgorithm<unknown>
}

/** Whether `cost` fits now. A cost above the limit never does, whatever an algorithm has room for. */
export function fits(state: unknown, policy: Policy, now: number, cost: number): boolean {
  return cost <= policy.limit && cost <= algorithmOf(policy).available(state, policy, now)
}

/** Whole units left now, from 0 to the limit. */
export function remaining(state: unknown, policy: Policy, now: number): number {
  const available = algorithmOf(policy).available(state, policy, now)
  return Math.max(0, Math.min(policy.limit, available))
}

/** What to report of a state. `delayMs` is the caller's to say, since it depends on whether the cost was charged. */
export function standing(
  state: unknown,
  policy: Policy,
  now: number,
  asked: { readonly allowed: boolean; readonly cost: number; readonly delayMs: number },
): Standing {
  const algorithm = algorithmOf(policy)
  const left = remaining(state, policy, now)
  return {
    allowed: asked.allowed,
    remaining: left,
    retryAfterMs: asked.allowed ? 0 : waitMs(state, policy, now, asked.cost),
    resetMs: algorithm.resetMs(state, policy, now),
    nextMs: left < policy.limit ? algorithm.waitMs(state, policy, now, left + 1) : 0,
    delayMs: asked.delayMs,
  }
}

function waitMs(state: unknown, policy: Policy, now: number, cost: number): number {
  if (cost > policy.limit) return Number.POSITIVE_INFINITY
  return algorithmOf(policy).waitMs(state, policy, now, cost)
}

const algorithms: { readonly [Name in Algorithm]: unknown } = {
  'fixed-window': fixedWindowAlgorithm,
  'sliding-window': slidingWindowAlgorithm,
  'sliding-log': slidingLogAlgorithm,
  'token-bucket': tokenBucketAlgorithm,
  'leaky-bucket': leakyBucketAlgorithm,
}
