import { createRateLimiter, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { answerParent } from '../../support/answer-parent.ts'
import { cases } from '../rate-limit/cases.ts'

/** What a process of a fleet is asked to do: so many calls at once, or calls without end. */
export interface Work {
  readonly algorithm: string
  readonly key: string
  readonly limit: number
  readonly windowMs: number
  readonly calls: number
  readonly cost?: number
}

const redis = new Redis(Number(process.argv[2]))
redis.on('error', () => {})
const store = redisStore(redis, { prefix: process.argv[3] ?? 'fleet' })

answerParent(async ({ algorithm, key, limit, windowMs, calls, cost = 1 }: Work) => {
  const chosen = cases.find((each) => each.algorithm === algorithm)
  if (!chosen) throw new Error(`no algorithm ${algorithm}`)
  const policy = chosen.policy(limit, windowMs)
  const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
  const limiter = createRateLimiter({ name: 'fleet', policy, store, ...options })
  if (calls === Infinity) {
    void Promise.all(Array.from({ length: 50 }, () => runForEver(limiter, key)))
    return []
  }
  return Promise.all(Array.from({ length: calls }, () => limiter.consume(key, { cost })))
})

async function runForEver(
  limiter: ReturnType<typeof createRateLimiter>,
  key: string,
): Promise<never> {
  for (let call = 0; ; call++) {
    await limiter.consume(`${key}${call % 100}`)
    if (call % 5 === 0) await limiter.refund(`${key}${call % 100}`, 1)
  }
}
