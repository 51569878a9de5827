import { ConfigurationError } from '../errors.ts'

/**
 * What {@link fromFlexible} takes: any limiter of the package rate-limiter-flexible. Nothing of that package
 * is imported, so the version is the application's choice.
 */
export interface FlexibleLimiter {
  consume(key: string, points?: number): Promise<unknown>
}

/** One limiter of that package with what a store needs of it, its shape checked. */
export interface Counter {
  /** What it counts under in its store; names it within a union. */
  readonly keyPrefix: unknown
  readonly limit: number
  /** Infinity when the count never starts afresh. */
  readonly windowMs: number
  /** The largest cost that can ever pass. */
  readonly largestCost: number
  /** Whether a call leaves the process. */
  readonly remote: boolean
  consume(key: string, cost: number): Promise<unknown>
  get(key: string): Promise<unknown>
  /** Takes back what was spent, below zero and into a new window too. */
  reward(key: string, units: number): Promise<unknown>
  /** Spends, and never refuses. */
  penalty(key: string, units: number): Promise<unknown>
  delete(key: string): Promise<unknown>
}

/**
 * The counters of a limiter: one, or of a union one each.
 *
 * @throws ConfigurationError (`configuration`) for anything else, and for a limiter that cannot be used.
 */
export function countersOf(limiter: unknown): readonly Counter[] {
  const members = field(limiter, '_limiters')
  return Array.isArray(members) ? members.map(counterOf) : [counterOf(limiter)]
}

/** A property of anything. Limiters that an application wrote inherit getters that throw: they tell nothing. */
export function field(value: unknown, name: string): unknown {
  try {
    return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  } catch {
    return undefined
  }
}

function counterOf(limiter: unknown): Counter {
  const steady = field(limiter, '_rateLimiter')
  const burst = field(limiter, '_burstLimiter')
  if (!steady || !burst) return single(limiter)
  return bursty(limiter as FlexibleLimiter, single(steady), single(burst))
}

function single(limiter: unknown): Counter {
  if (!isComplete(limiter)) throw unusable(limiter, `one with ${methods.join(', ')}`)
  const layers = layersOf(limiter)
  const innermost = layers.at(-1)
  const points = field(innermost, 'points')
  const duration = field(innermost, 'duration')
  if (!isNumber(points) || !isNumber(duration))
    throw unusable(limiter, 'one whose `points` and `duration` are numbers')
  const remote = field(limiter, '_memoryStorage') === undefined
  if (remote && layers.some((layer) => field(layer, 'execEvenly') === true))
    throw unusable(
      limiter,
      'without `execEvenly`, whose pauses look like a store that is late (for an even pace: leakyBucket())',
    )
  const limit = Math.min(Math.max(0, Math.floor(points)), Number.MAX_SAFE_INTEGER)
  return {
    keyPrefix: field(limiter, 'keyPrefix'),
    limit,
    windowMs: duration > 0 ? Math.max(1, Math.round(duration * 1000)) : Number.POSITIVE_INFINITY,
    largestCost: limit,
    remote,
    consume: (key, cost) => limiter.consume(key, cost),
    get: (key) => limiter.get(key),
    reward: (key, units) => limiter.reward(key, units),
    penalty: (key, units) => limiter.penalty(key, units),
    delete: (key) => limiter.delete(key),
  }
}

/**
 * A `BurstyRateLimiter` asks its second limiter for what the first refuses, and tells little of either. It
 * does not tell which of the two let a call pass, so a refund goes to the first, which was charged in any case.
 */
function bursty(limiter: FlexibleLimiter, steady: Counter, burst: Counter): Counter {
  return {
    ...steady,
    largestCost: Math.max(steady.limit, burst.limit),
    remote: steady.remote || burst.remote,
    consume: (key, cost) => limiter.consume(key, cost),
    async get(key) {
      const [first, second] = await Promise.all([steady.get(key), burst.get(key)])
      const known = [first, second].filter(Boolean)
      if (known.length === 0) return null
      return {
        remainingPoints: Math.max(left(first, steady), left(second, burst)),
        msBeforeNext: Math.min(...known.map((result) => Number(field(result, 'msBeforeNext')))),
        consumedPoints: field(first, 'consumedPoints'),
      }
    },
    delete: (key) => Promise.all([steady.delete(key), burst.delete(key)]),
  }
}

function left(result: unknown, { limit }: Counter): number {
  return result ? Number(field(result, 'remainingPoints')) : limit
}

type Complete = Omit<Counter, 'keyPrefix' | 'limit' | 'windowMs' | 'largestCost' | 'remote'>

const methods = ['consume', 'get', 'reward', 'penalty', 'delete'] as const

function isComplete(limiter: unknown): limiter is Complete {
  return methods.every((method) => typeof field(limiter, method) === 'function')
}

/** From the outermost wrapper to the limiter that counts: wrappers have no limit of their own, or say it is 0. */
function layersOf(limiter: unknown): readonly unknown[] {
  const inner = field(limiter, 'limiter')
  return inner ? [limiter, ...layersOf(inner)] : [limiter]
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value)
}

function unusable(limiter: unknown, expected: string): ConfigurationError {
  const hint =
    typeof field(limiter, 'removeTokens') === 'function'
      ? ' (a RateLimiterQueue makes callers wait: leakyBucket() does that here)'
      : ''
  return new ConfigurationError(
    'fromFlexible',
    'limiter',
    limiter,
    `a limiter of rate-limiter-flexible, ${expected}${hint}`,
  )
}
