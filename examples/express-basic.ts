// #region app
import { rateLimit, tokenBucket } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
app.use(rateLimit({ policy: tokenBucket({ capacity: 3, refill: 1, refillMs: 1000 }) }))
app.get('/', (req, res) => {
  res.send(`Hello, requests left: ${req.rateLimit?.remaining}`)
})
// #endregion

await tryOut(app, async (ask) => {
  console.log(await ask('/'))
  console.log(await ask('/'))
  console.log(await ask('/'))
  console.log(await ask('/')) // 429, as application/problem+json
})
