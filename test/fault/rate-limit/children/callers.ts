// Callers that never stop: all algorithms together and one by one, consumed, given back and forgotten.
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  createRateLimiter,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { answerParent } from '../../../support/answer-parent.ts'

const [, , port] = process.argv
const redis = new Redis(Number(port), '127.0.0.1')
redis.on('error', () => {})
const store = redisStore(redis)
const [limit, windowMs] = [50, 600_000]
const policies = [
  fixedWindow({ limit, windowMs }),
  slidingWindow({ limit, windowMs }),
  slidingLog({ limit, windowMs }),
  tokenBucket({ capacity: limit, refill: 1, refillMs: windowMs }),
  leakyBucket({ capacity: limit, drain: 1, drainMs: windowMs }),
]
const limiters = [policies, ...policies].map((policy, index) =>
  createRateLimiter({ name: `${index}`, store, policy, denyCacheMs: 0, timeoutMs: 100 }),
)

answerParent(() => {})
await Promise.all(limiters.map(call))

async function call(limiter: (typeof limiters)[number]): Promise<never> {
  for (let times = 0; ; times++) {
    const key = `${times % 20}`
    const calls: Promise<unknown>[] = [
      limiter.consume(key, { cost: 1 + (times % 7) }),
      limiter.consume(`other ${key}`),
      limiter.refund(key, 1 + (times % 3)),
    ]
    if (times % 50 === 0) calls.push(limiter.reset(key))
    await Promise.allSettled([...calls, nextTurn()])
  }
}
