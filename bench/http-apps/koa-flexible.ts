import Koa from 'koa'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { serve } from './serve.ts'

const { limit, windowMs } = readSettings()
const limiter = new RateLimiterRedis({
  storeClient: await connect(),
  points: limit,
  duration: windowMs / 1000,
  inMemoryBlockOnConsumed: limit, // its deny cache; one comparison a request while nobody is over the limit
})
const app = new Koa()
app.use(async (ctx, next) => {
  const { passed, state } = await consume(ctx.get('x-subject'))
  ctx.set('X-RateLimit-Limit', String(limit))
  ctx.set('X-RateLimit-Remaining', String(state.remainingPoints))
  ctx.set('X-RateLimit-Reset', String(Math.ceil((Date.now() + state.msBeforeNext) / 1000)))
  if (passed) return next()
  ctx.status = 429
  ctx.set('Retry-After', String(Math.ceil(state.msBeforeNext / 1000)))
  ctx.body = 'Too Many Requests'
})
app.use((ctx) => {
  ctx.body = 'ok'
})
await serve(app.callback())

async function consume(subject: string): Promise<{ passed: boolean; state: RateLimiterRes }> {
  try {
    return { passed: true, state: await limiter.consume(subject) }
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return { passed: false, state: refusal }
    throw refusal
  }
}
