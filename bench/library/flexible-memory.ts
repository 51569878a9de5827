import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { readSettings } from '../settings.ts'
import { serveLoop } from './loop.ts'

const { limit, windowMs } = readSettings()
const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 })
serveLoop({
  consume: (subject) => limiter.consume(subject),
  allows: () => true,
  isRefusal: (error) => error instanceof RateLimiterRes,
})
