import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { serveLoop } from './loop.ts'

const { limit, windowMs } = readSettings()
const limiter = new RateLimiterRedis({
  storeClient: await connect(),
  points: limit,
  duration: windowMs / 1000,
})
serveLoop({
  consume: (subject) => limiter.consume(subject),
  allows: () => true,
  isRefusal: (error) => error instanceof RateLimiterRes,
})
