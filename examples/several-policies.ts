// #region app
import { fixedWindow, rateLimit, tokenBucket } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
app.use(
  rateLimit({
    policy: [
      tokenBucket({ name: 'burst', capacity: 2, refill: 1, refillMs: 1000 }),
      fixedWindow({ name: 'daily', limit: 10_000, windowMs: 86_400_000 }),
    ],
  }),
)
// #endregion
app.get('/', (_req, res) => {
  res.send('hello')
})

await tryOut(app, async (ask) => {
  await ask('/')
  await ask('/')
  await ask('/') // 'burst' refuses, so 'daily' is not charged either: it stays at r=9998
  await ask('/')
})
