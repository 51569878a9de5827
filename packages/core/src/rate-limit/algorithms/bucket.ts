import type { Policy } from '../policy.ts'
import type { CountingAlgorithm } from './algorithm.ts'

/**
 * Units spent, and since when the rate gives them back: `spent - (now - anchor) * amount / periodMs` are
 * missing now. Both are integers and the anchor moves in whole periods only, so nothing is ever rounded.
 */
export interface BucketState {
  readonly anchor: number
  readonly spent: number
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
    return Math.ceil(missing({ anchor, spent: spent - cost }, policy, now) / policy.rate.amount)
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
      return missing(stored, policy, now) > 0 ? stored : { anchor: now, spent: 0 }
    },
    available(state, policy, now) {
      const { periodMs } = policy.rate
      return Math.floor((kind.room(policy) * periodMs - missing(state, policy, now)) / periodMs)
    },
    waitMs(state, policy, now, cost) {
      const { amount, periodMs } = policy.rate
      const excess = missing(state, policy, now) + (cost - kind.room(policy)) * periodMs
      return Math.ceil(excess / amount)
    },
    resetMs: (state, policy, now) => Math.ceil(missing(state, policy, now) / policy.rate.amount),
    delayMs: kind.delayMs,
    charge({ anchor, spent }, { rate }, now, cost) {
      const periods = Math.floor((now - anchor) / rate.periodMs)
      return {
        anchor: anchor + periods * rate.periodMs,
        spent: spent + cost - periods * rate.amount,
      }
    },
    refund(state, policy, now, cost) {
      const left = { anchor: state.anchor, spent: state.spent - cost }
      return missing(left, policy, now) > 0 ? left : undefined
    },
  }
}

/** What is missing now, in units of 1/periodMs of a token: an integer, where the float's 53 bits hold it. */
function missing({ anchor, spent }: BucketState, { rate }: Policy, now: number): number {
  return spent * rate.periodMs - (now - anchor) * rate.amount
}
