// #region store
import { createRateLimiter, redisStore, tokenBucket } from '@sluice/express'
import { createClient } from 'redis'

// #endregion

const url = process.env['REDIS_URL']
if (!url) {
  console.log('This example needs a Redis: set REDIS_URL=redis://127.0.0.1:6379, say.')
  process.exit()
}

// #region store
const redis = createClient({ url })
redis.on('error', (error: Error) => console.error(`Redis: ${error.message}`))
redis.connect().catch(() => {}) // no need to wait: until then the process decides by itself

const limiter = createRateLimiter({
  name: 'mail',
  store: redisStore(redis),
  policy: tokenBucket({ capacity: 20, refill: 5, refillMs: 1000 }),
})
// #endregion

for (let n = 0; n < 3; n++) {
  const { allowed, remaining, source } = await limiter.consume('customer:42')
  console.log(`allowed: ${allowed}, remaining: ${remaining}, source: ${source}`)
}
redis.destroy()
