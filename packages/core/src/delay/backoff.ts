import { ConfigurationError } from '../errors.ts'
import { callback, checkOptions, duration, either, type Rule } from '../options.ts'

/** Pauses that double with every attempt, with full jitter: anything from 0 to the pause, so that those who failed together do not come back together. */
export interface ExponentialBackoff {
  /** The longest pause after the first attempt, in milliseconds; default 1,000. */
  readonly baseMs?: number | undefined
  /** The longest pause of all, in milliseconds, not below `baseMs`; default 300,000. */
  readonly maxMs?: number | undefined
}

/** How long a task or a message waits after attempt 1, 2, … failed: a function, which adds jitter itself, or doubling pauses. */
export type Backoff = ((attempt: number) => number) | ExponentialBackoff

/** What an option `backoff` may be; {@link backoffOf} looks closer. */
export const backoffRule: Rule = either(callback, {
  expected: '{ baseMs, maxMs }',
  accepts: (value) => typeof value === 'object' && value !== null,
})

/**
 * The pause after each attempt; `owner` is whose option it is.
 *
 * @throws ConfigurationError (`configuration`)
 */
export function backoffOf(owner: string, backoff: Backoff): (attempt: number) => number {
  return typeof backoff === 'function' ? own(owner, backoff) : exponential(owner, backoff)
}

/** Nothing must get lost because the function that says when to retry it is wrong. */
function own(owner: string, backoff: (attempt: number) => number): (attempt: number) => number {
  const fallback = exponential(owner, {})
  return (attempt) => {
    try {
      const pauseMs = Math.ceil(backoff(attempt))
      if (pause.accepts(pauseMs)) return pauseMs
    } catch {}
    return fallback(attempt)
  }
}

function exponential(owner: string, options: ExponentialBackoff): (attempt: number) => number {
  const { baseMs = 1000, maxMs = Math.max(baseMs, 300_000) } = checkOptions(owner, options, rules)
  if (maxMs < baseMs)
    throw new ConfigurationError(owner, 'backoff.maxMs', maxMs, `at least \`baseMs\` (${baseMs})`)
  return (attempt) => {
    const longestMs = Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, MOST_DOUBLINGS))
    return Math.floor(Math.random() * (longestMs + 1))
  }
}

/** More than lead from one millisecond to ten years, and no overflow. */
const MOST_DOUBLINGS = 52
const pause = duration(0)
const rules = { baseMs: pause, maxMs: pause }
