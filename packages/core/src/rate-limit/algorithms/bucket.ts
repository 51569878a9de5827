import type { Policy } from '../policy.ts'
import type { CountingAlgorithm } from './algorithm.ts'
import { portion } from './portion.ts'

/**
 * Units spent, and since when the rate gives them back: `spent - (now - anchor) * amount / periodMs` are
 * missing now. Both are integers and the anchor moves in whole periods only, so nothing is ever lost to rounding.
 */
export interface BucketState {
  anchor: number
  spent: number
}

/** Tokens come back continuously, up to the capacity. Twin: `lua/rate-limit/token-bucket.lua`. */
export const tokenBucketAlgorithm: CountingAlgorithm<BucketState> = bucket({
  room: ({ limit }) => limit,
  delayMs: () => 0,
})

/**
 * The same arithmetic read as a line: one call in service, `capacity` calls waiting behind it.
 * Twin: `lua/rate-limit/leaky-bucket.lua`.
 */
export const leakyBucketAlgorithm: CountingAlgorithm<BucketState> = bucket({
  room: ({ limit }) => (limit > 0 ? limit + 1 : 0),
  delayMs({ anchor, spent }, policy, now, cost) {
    return Math.max(0, anchor + untilBackMs(spent - cost, policy) - now)
  },
})

function bucket(kind: {
  room: (policy: Policy) => number
  delayMs: CountingAlgorithm<BucketState>['delayMs']
}): CountingAlgorithm<BucketState> {
  return {
    read(stored, policy, now) {
      if (!stored) return { anchor: now, spent: 0 }
      // A clock that was set back must not lock anyone out until it catches up.
      if (stored.anchor > now) return { anchor: now, spent: stored.spent }
      return stored.spent > returned(stored, policy, now) ? stored : { anchor: now, spent: 0 }
    },
    available(state, policy, now) {
      return kind.room(policy) - (state.spent - returned(state, policy, now))
    },
    waitMs({ anchor, spent }, policy, now, cost) {
      return anchor + untilBackMs(spent + cost - kind.room(policy), policy) - now
    },
    resetMs: ({ anchor, spent }, policy, now) => anchor + untilBackMs(spent, policy) - now,
    delayMs: kind.delayMs,
    charge(state, { rate }, now, cost) {
      const periods = Math.floor((now - state.anchor) / rate.periodMs)
      state.anchor += periods * rate.periodMs
      state.spent += cost - periods * rate.amount
      return state
    },
    refund(state, policy, now, cost) {
      const spent = state.spent - cost
      return spent > returned(state, policy, now) ? { anchor: state.anchor, spent } : undefined
    },
  }
}

/** Whole units that have come back since the anchor. */
function returned({ anchor }: BucketState, { rate }: Policy, now: number): number {
  const periods = Math.floor((now - anchor) / rate.periodMs)
  const restMs = now - anchor - periods * rate.periodMs
  return periods * rate.amount + portion(rate.amount, restMs, rate.periodMs)
}

/** Milliseconds from the anchor until so many units have come back. */
function untilBackMs(units: number, { rate }: Policy): number {
  const periods = Math.floor(units / rate.amount) + 1
  return (
    periods * rate.periodMs - portion(periods * rate.amount - units, rate.periodMs, rate.amount)
  )
}
