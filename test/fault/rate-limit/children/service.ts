// A service that does all a limiter can do, whatever its Redis does, disconnects, and has nothing left to do.
import {
  createRateLimiter,
  fixedWindow,
  type OnStoreFailure,
  type RateLimiter,
  type RedisClient,
  redisStore,
  slidingLog,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const [, , port] = process.argv
const windowMs = 60_000
const policy = [fixedWindow({ limit: 100, windowMs }), slidingLog({ limit: 100, windowMs })]

const ioredis = new Redis(Number(port), '127.0.0.1')
const nodeRedis = createClient({ socket: { host: '127.0.0.1', port: Number(port) } })
for (const client of [ioredis, nodeRedis]) client.on('error', () => {})
nodeRedis.connect().catch(() => {})

const rejections = await Promise.all([ioredis, nodeRedis].map(serve))
process.stdout.write(JSON.stringify(rejections))
ioredis.disconnect()
nodeRedis.destroy()

/** How many calls of two rounds rejected. */
async function serve(client: RedisClient): Promise<readonly number[]> {
  const store = redisStore(client)
  const limiters = (['open', 'closed', 'local'] satisfies OnStoreFailure[]).map((onStoreFailure) =>
    createRateLimiter({ name: onStoreFailure, store, policy, onStoreFailure }),
  )
  const counts: number[] = []
  for (const round of [1, 2]) {
    const outcomes = await Promise.allSettled(limiters.flatMap((limiter) => calls(limiter, round)))
    counts.push(outcomes.filter(({ status }) => status === 'rejected').length)
  }
  return counts
}

function calls(limiter: RateLimiter, cost: number): Promise<unknown>[] {
  const signal = AbortSignal.abort(new Error('the caller left'))
  return [
    ...Array.from({ length: 3 }, () => limiter.consume('k', { cost })),
    limiter.consume('k', { signal }),
    limiter.peek('k'),
    limiter.refund('k', cost),
    limiter.reset('k'),
  ]
}
