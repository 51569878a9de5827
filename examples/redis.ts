// #region store
import { fixedWindow, rateLimit, redisStore, tokenBucket } from '@sluice/express'
import express from 'express'
import { Redis } from 'ioredis'
// #endregion
import { tryOut } from './support/try-out.ts'

const url = process.env['REDIS_URL']
if (!url) {
  console.log('This example needs a Redis: set REDIS_URL=redis://127.0.0.1:6379, say.')
  process.exit()
}

// #region store
const redis = new Redis(url) // yours: 'redis://127.0.0.1:6379', say; its default settings are fine
redis.on('error', (error) => console.error(`Redis: ${error.message}`)) // it reconnects by itself

const app = express()
app.use(
  rateLimit({
    name: 'api', // every process with this name on this Redis shares the quota
    store: redisStore(redis),
    policy: [
      tokenBucket({ name: 'burst', capacity: 20, refill: 5, refillMs: 1000 }),
      fixedWindow({ name: 'daily', limit: 10_000, windowMs: 86_400_000 }),
    ],
  }),
)
// #endregion
app.get('/', (req, res) => {
  res.send(`source: ${req.rateLimit?.source}`) // 'store', or 'local' while Redis is away
})

await tryOut(app, async (ask) => {
  console.log(await ask('/'))
  console.log(await ask('/'))
})
redis.disconnect() // the client is yours, so closing it is too
