import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/express'
import { LIMIT, WINDOW_MS } from './arrivals.ts'

/** One algorithm on the stage. */
export interface Contender {
  readonly title: string
  /** What to see in its picture, in one line of at most 70 characters. */
  readonly lesson: string
  /** The policy as one writes it. */
  readonly code: string
  readonly policy: Policy
}

const window = { limit: LIMIT, windowMs: WINDOW_MS }
const windowCode = `({ limit: ${LIMIT}, windowMs: ${WINDOW_MS} })`
const perSecond = (LIMIT * 1000) / WINDOW_MS

export const contenders: readonly Contender[] = [
  {
    title: 'fixed window',
    lesson: 'Cheapest: one counter. Around 3 s nearly twice the limit gets through.',
    code: `fixedWindow${windowCode}`,
    policy: fixedWindow(window),
  },
  {
    title: 'sliding window',
    lesson: 'Two counters, weighed: no boundary burst, and close to exact.',
    code: `slidingWindow${windowCode}`,
    policy: slidingWindow(window),
  },
  {
    title: 'sliding log',
    lesson: `Exact: remembers every request; never more than ${LIMIT} in any ${WINDOW_MS / 1000} s.`,
    code: `slidingLog${windowCode}`,
    policy: slidingLog(window),
  },
  {
    title: 'token bucket',
    lesson: `Saves up for a burst of ${LIMIT}; on top of that ${perSecond} a second pass, steadily.`,
    code: `tokenBucket({ capacity: ${LIMIT}, refill: ${LIMIT}, refillMs: ${WINDOW_MS} })`,
    policy: tokenBucket({ capacity: LIMIT, refill: LIMIT, refillMs: WINDOW_MS }),
  },
  {
    title: 'leaky bucket',
    lesson: `Nobody bursts: requests wait in line, and ${perSecond} a second leave it.`,
    code: `leakyBucket({ capacity: ${LIMIT}, drain: ${LIMIT}, drainMs: ${WINDOW_MS} })`,
    policy: leakyBucket({ capacity: LIMIT, drain: LIMIT, drainMs: WINDOW_MS }),
  },
]
