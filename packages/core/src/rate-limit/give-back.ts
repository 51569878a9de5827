import type { Decision } from './decision.ts'
import type { RateLimiter } from './limiter.ts'

/** Takes back part of what one decision has spent. */
export type Refund = (key: string, cost: number) => Promise<void>

/** Notes who spent what a degraded decision cost: not the store of the limiter that was asked. */
export function spentBy(decision: Decision, refund: Refund): Decision {
  spenders.set(decision, refund)
  return decision
}

/** Gives back what a decision has spent, where it was spent; a decision that spent nothing gives nothing. */
export async function giveBack(
  limiter: RateLimiter,
  decision: Decision,
  key: string,
  cost: number,
): Promise<void> {
  const refund = spenders.get(decision)
  if (refund) await refund(key, cost)
  else if (decision.source === 'store') await limiter.refund(key, cost)
}

const spenders = new WeakMap<Decision, Refund>()
