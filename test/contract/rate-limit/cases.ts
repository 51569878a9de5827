import {
  type Algorithm,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'

/** An algorithm with a limit or capacity of `limit`, all of which comes back in `windowMs`. */
export interface Case {
  readonly algorithm: Algorithm
  readonly policy: (limit: number, windowMs: number, name?: string) => Policy
  /** Units that pass at once from idle: a leaky bucket serves one call while `limit` wait. */
  readonly fromIdle: (limit: number) => number
  /** From spending all of it at once until nothing is spent. */
  readonly resetMs: (windowMs: number) => number
  readonly maxLimit: number
}

const same = (value: number) => value
const named = (name: string | undefined) => (name === undefined ? {} : { name })

export const cases: readonly Case[] = [
  {
    algorithm: 'fixed-window',
    policy: (limit, windowMs, name) => fixedWindow({ limit, windowMs, ...named(name) }),
    fromIdle: same,
    resetMs: same,
    maxLimit: 1_000_000_000,
  },
  {
    algorithm: 'sliding-window',
    policy: (limit, windowMs, name) => slidingWindow({ limit, windowMs, ...named(name) }),
    fromIdle: same,
    resetMs: (windowMs) => 2 * windowMs,
    maxLimit: 1_000_000_000,
  },
  {
    algorithm: 'sliding-log',
    policy: (limit, windowMs, name) => slidingLog({ limit, windowMs, ...named(name) }),
    fromIdle: same,
    resetMs: same,
    maxLimit: 100_000,
  },
  {
    algorithm: 'token-bucket',
    policy: (limit, windowMs, name) =>
      tokenBucket({ capacity: limit, refill: limit || 1, refillMs: windowMs, ...named(name) }),
    fromIdle: same,
    resetMs: same,
    maxLimit: 1_000_000_000,
  },
  {
    algorithm: 'leaky-bucket',
    policy: (limit, windowMs, name) =>
      leakyBucket({ capacity: limit, drain: limit || 1, drainMs: windowMs, ...named(name) }),
    fromIdle: (limit) => (limit === 0 ? 0 : limit + 1),
    resetMs: same,
    maxLimit: 1_000_000_000,
  },
]

/** The cases of some algorithms; of all, if nothing else is said. */
export function casesOf(algorithms: readonly Algorithm[] | undefined): readonly Case[] {
  return algorithms ? cases.filter(({ algorithm }) => algorithms.includes(algorithm)) : cases
}

/** What a window or bucket must outlast in a test that wants no time to pass. */
export const LONG_MS = 3_600_000
