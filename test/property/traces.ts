import {
  type Algorithm,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import fc from 'fast-check'

/** What happens to one subject of a limiter, step by step. */
export interface Trace {
  readonly policies: readonly PolicyNumbers[]
  readonly steps: readonly Step[]
}

/** A policy as numbers; what an algorithm has no use for is ignored. */
export interface PolicyNumbers {
  readonly algorithm: Algorithm
  readonly limit: number
  /** Buckets: units that come back every `windowMs`. */
  readonly amount: number
  readonly windowMs: number
}

export type Step =
  /** Time passes: a share of the first policy's window, and a little. */
  | { readonly do: 'advance'; readonly percent: number; readonly ms: number }
  /** Time passes: what the last decision named, or 1 ms less. Then comes a call. */
  | { readonly do: 'await'; readonly what: Wait; readonly early: 0 | 1; readonly units: number }
  /** A call whose cost is a share of the first policy's limit, and a few. */
  | { readonly do: 'consume' | 'peek' | 'refund'; readonly percent: number; readonly units: number }
  | { readonly do: 'reset' }
  /** The limiter is made anew, with other numbers under the same names. */
  | ({ readonly do: 'change' } & Omit<PolicyNumbers, 'algorithm'>)

export type Wait = 'retryAfterMs' | 'nextMs' | 'resetMs'

export const algorithms: readonly Algorithm[] = [
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'token-bucket',
  'leaky-bucket',
]

/** Traces under one policy of one algorithm. */
export function traces(algorithm: Algorithm, numbers: Numbers = usual): fc.Arbitrary<Trace> {
  const policy = fc.record({ algorithm: fc.constant(algorithm), ...numbers })
  return tracesOf(
    policy.map((only) => [only]),
    numbers,
  )
}

/** Traces under one to four policies. */
export function tracesOfSeveral(): fc.Arbitrary<Trace> {
  const policy = fc.record({ algorithm: fc.constantFrom(...algorithms), ...usual })
  return tracesOf(fc.array(policy, { minLength: 1, maxLength: 4 }), usual)
}

/** A trace's policy; `name` keeps several apart. */
export function policyOf(numbers: PolicyNumbers, name: string): Policy {
  const { algorithm, limit, amount, windowMs } = numbers
  switch (algorithm) {
    case 'fixed-window':
      return fixedWindow({ name, limit, windowMs })
    case 'sliding-window':
      return slidingWindow({ name, limit, windowMs })
    case 'sliding-log':
      return slidingLog({ name, limit: Math.min(limit, LARGEST_LOG), windowMs })
    case 'token-bucket':
      return tokenBucket({ name, capacity: limit, refill: amount, refillMs: windowMs })
    case 'leaky-bucket':
      return leakyBucket({ name, capacity: limit, drain: amount, drainMs: windowMs })
  }
}

function tracesOf(
  policies: fc.Arbitrary<readonly PolicyNumbers[]>,
  numbers: Numbers,
): fc.Arbitrary<Trace> {
  const steps = fc.array(step(numbers), { minLength: 1, maxLength: 40, size: 'max' })
  return fc.record({ policies, steps })
}

function step(numbers: Numbers): fc.Arbitrary<Step> {
  const cost = { percent: fc.constantFrom(0, 0, 0, 30, 50, 99, 100), units: fc.nat(4) }
  const call = (name: 'consume' | 'peek' | 'refund') =>
    fc.record({ do: fc.constant(name), ...cost })
  const advance = fc.record({
    do: fc.constant('advance' as const),
    percent: fc.integer({ min: 0, max: 250 }),
    ms: fc.nat(3),
  })
  const wait = fc.record({
    do: fc.constant('await' as const),
    what: fc.constantFrom<Wait>('retryAfterMs', 'nextMs', 'resetMs'),
    early: fc.constantFrom<0 | 1>(0, 1),
    units: fc.nat(2),
  })
  return fc.oneof(
    { weight: 10, arbitrary: call('consume') },
    { weight: 2, arbitrary: call('peek') },
    { weight: 2, arbitrary: call('refund') },
    { weight: 4, arbitrary: advance },
    { weight: 6, arbitrary: wait },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('change' as const), ...numbers }) },
  )
}

function large(max: number): fc.Arbitrary<number> {
  return fc.oneof(fc.constant(max), fc.constant(max / 10), fc.integer({ min: max / 10, max }))
}

function mostlySmall(min: number, small: number, large: number): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min, max: small }) },
    { weight: 2, arbitrary: fc.integer({ min, max: large }) },
    { weight: 1, arbitrary: fc.constant(large) },
  )
}

type Numbers = { readonly [Name in 'limit' | 'amount' | 'windowMs']: fc.Arbitrary<number> }

const LARGEST = 1_000_000_000
const LARGEST_LOG = 100_000
const TEN_YEARS_MS = 3_653 * 86_400_000

/** R7: every number that a policy may have, the small ones more often. */
const usual: Numbers = {
  limit: mostlySmall(0, 12, LARGEST),
  amount: mostlySmall(1, 30, LARGEST),
  windowMs: mostlySmall(1, 1000, TEN_YEARS_MS),
}

/** R7: numbers whose products leave the range in which a double counts by ones. */
export const extreme: Numbers = {
  limit: large(LARGEST),
  amount: large(LARGEST),
  windowMs: large(TEN_YEARS_MS),
}
