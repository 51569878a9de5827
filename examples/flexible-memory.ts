// #region app
import { fixedWindow, fromFlexible, rateLimit, redisStore } from '@sluice/express'
import express from 'express'
import { Redis } from 'ioredis'
import { RateLimiterMemory } from 'rate-limiter-flexible'
// #endregion
import { tryOut } from './support/try-out.ts'

const redis = new Redis(1, { retryStrategy: () => 1000 }) // nothing listens there: a Redis that is down
redis.on('error', () => {})

// #region app
const app = express()

// As the engine: that library counts, Sluice answers.
const search = new RateLimiterMemory({ points: 2, duration: 60 })
app.use('/search', rateLimit({ limiter: fromFlexible(search, { name: 'search' }) }))

// As the target of degradation: it decides while Redis cannot.
const meanwhile = new RateLimiterMemory({ points: 1, duration: 60 })
app.use(
  '/mail',
  rateLimit({
    store: redisStore(redis),
    policy: fixedWindow({ name: 'mail', limit: 100, windowMs: 60_000 }),
    onStoreFailure: fromFlexible(meanwhile, { name: 'meanwhile' }),
  }),
)
// #endregion
app.use((req, res) => {
  const { policy, remaining, source } = req.rateLimit ?? {}
  res.send(`${policy}: ${remaining} left, said by ${source}`)
})

await tryOut(app, async (ask) => {
  console.log(await ask('/search'))
  console.log(await ask('/search'))
  console.log(await ask('/search'))
  console.log(await ask('/mail')) // waits for the deadline of half a second, and is let in
  console.log(await ask('/mail'))
})
redis.disconnect()
