import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { serveLoop } from './loop.ts'

const { limit, windowMs } = readSettings()
const storeClient = await connect()
const union = new RateLimiterUnion(
  ...[1, 2, 24, 48].map(
    (factor) =>
      new RateLimiterRedis({
        storeClient,
        keyPrefix: `window-${factor}`,
        points: limit,
        duration: (factor * windowMs) / 1000,
      }),
  ),
)
serveLoop({
  consume: (subject) => union.consume(subject),
  allows: () => true,
  isRefusal: (error) => !(error instanceof Error),
})
