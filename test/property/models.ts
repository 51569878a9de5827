import type { Algorithm } from '@sluice/core'

/** A policy's numbers, exact. */
export interface Rate {
  readonly limit: bigint
  /** Buckets: `amount` units come back every `periodMs`. */
  readonly amount: bigint
  /** Windows: the window. */
  readonly periodMs: bigint
}

/**
 * How an algorithm counts, in as few lines as it takes to say it, exact, with no thought for memory or speed. All
 * that a decision reports follows from `spent`. Where nothing is spent, there is no state.
 */
export interface Model<State> {
  /** Whole units that are missing at a time. */
  spent(state: State, rate: Rate, at: bigint): bigint
  charge(state: State | undefined, rate: Rate, now: bigint, cost: bigint): State
  /** Takes back up to `cost`. */
  refund(state: State, rate: Rate, now: bigint, cost: bigint): State
  /** What a policy that was changed since makes of the state. */
  under?(state: State, rate: Rate, now: bigint): State
}

/** The window starts at the first request; one that was shortened ends no later than one that starts now. */
const fixedWindow: Model<{ readonly endsAt: bigint; readonly used: bigint }> = {
  spent: ({ endsAt, used }, _, at) => (at < endsAt ? used : 0n),
  charge(state, { periodMs }, now, cost) {
    return { endsAt: state?.endsAt ?? now + periodMs, used: (state?.used ?? 0n) + cost }
  },
  refund: ({ endsAt, used }, _, __, cost) => ({ endsAt, used: larger(0n, used - cost) }),
  under: ({ endsAt, used }, { periodMs }, now) => ({
    endsAt: smaller(endsAt, now + periodMs),
    used,
  }),
}

interface Counts {
  readonly startedAt: bigint
  readonly previous: bigint
  readonly current: bigint
}

/** Adjacent windows; the previous one weighs as much as the sliding window still covers of it, rounded up. */
const slidingWindow: Model<Counts> = {
  spent(state, { periodMs }, at) {
    const { startedAt, previous, current } = turned(state, periodMs, at)
    return current + ceil(previous * (startedAt + periodMs - at), periodMs)
  },
  charge(state, { periodMs }, now, cost) {
    const counts = turned(state ?? { startedAt: now, previous: 0n, current: 0n }, periodMs, now)
    return { ...counts, current: counts.current + cost }
  },
  refund(state, { periodMs }, now, cost) {
    const { startedAt, previous, current } = turned(state, periodMs, now)
    const rest = larger(0n, cost - current)
    return {
      startedAt,
      previous: larger(0n, previous - rest),
      current: larger(0n, current - cost),
    }
  },
}

function turned(state: Counts, periodMs: bigint, at: bigint): Counts {
  const turns = (at - state.startedAt) / periodMs
  if (turns === 0n) return state
  const previous = turns === 1n ? state.current : 0n
  return { startedAt: state.startedAt + turns * periodMs, previous, current: 0n }
}

type Log = readonly { readonly at: bigint; readonly cost: bigint }[]

/** Every admitted request of the window; what has left is forgotten when something changes. */
const slidingLog: Model<Log> = {
  spent: (log, rate, at) => inWindow(log, rate, at).reduce((sum, { cost }) => sum + cost, 0n),
  charge: (log = [], rate, now, cost) => [...inWindow(log, rate, now), { at: now, cost }],
  refund(log, rate, now, cost) {
    const last = log.at(-1)
    if (!last || last.at + rate.periodMs <= now || cost === 0n) return inWindow(log, rate, now)
    if (last.cost > cost)
      return [...inWindow(log.slice(0, -1), rate, now), { ...last, cost: last.cost - cost }]
    return slidingLog.refund(log.slice(0, -1), rate, now, cost - last.cost)
  },
}

function inWindow(log: Log, { periodMs }: Rate, at: bigint): Log {
  return log.filter((entry) => entry.at + periodMs > at)
}

/** What is missing, in parts of 1/periodMs of a unit, comes back at a steady rate. */
const bucket: Model<{ readonly at: bigint; readonly missing: bigint }> = {
  spent: (state, rate, at) => ceil(missingAt(state, rate, at), rate.periodMs),
  charge: (state, rate, now, cost) => ({
    at: now,
    missing: (state ? missingAt(state, rate, now) : 0n) + cost * rate.periodMs,
  }),
  refund: (state, rate, now, cost) => ({
    at: now,
    missing: larger(0n, missingAt(state, rate, now) - cost * rate.periodMs),
  }),
}

function missingAt(state: { at: bigint; missing: bigint }, rate: Rate, at: bigint): bigint {
  return larger(0n, state.missing - (at - state.at) * rate.amount)
}

/** The model of an algorithm; its state is opaque to everyone else. */
export const models = {
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  'token-bucket': bucket,
  'leaky-bucket': bucket,
} as Readonly<Record<Algorithm, Model<unknown>>>

function ceil(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
