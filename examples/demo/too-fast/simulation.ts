import { createRateLimiter, memoryStore } from '@sluice/express'
import { arrivals } from './arrivals.ts'
import type { Contender } from './contenders.ts'
import type { Outcome } from './outcome.ts'

/** The same run without a server and on a clock of its own, so that it always comes out the same. */
export async function simulate({ policy }: Contender): Promise<Outcome[]> {
  let nowMs = 0
  const limiter = createRateLimiter({ policy, store: memoryStore({ now: () => nowMs }) })
  const outcomes: Outcome[] = []
  for (nowMs of arrivals) {
    const { allowed, delayMs } = await limiter.consume('demo')
    const answeredMs = nowMs + delayMs
    outcomes.push({ sentMs: nowMs, answeredMs, passed: allowed, waited: delayMs > 0 })
  }
  return outcomes
}
