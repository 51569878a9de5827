// #region app
import { leakyBucket, rateLimit } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
// Five a second go on to the handler, one by one. Three may wait for their turn; the next is refused.
app.use(rateLimit({ policy: leakyBucket({ capacity: 3, drain: 5, drainMs: 1000 }) }))
app.get('/', (req, res) => {
  res.send(`waited ${req.rateLimit?.delayMs} ms`)
})
// #endregion

await tryOut(app, async (ask) => {
  const visits = Array.from({ length: 6 }, () => ask('/')) // all at once
  for (const body of await Promise.all(visits)) console.log(body)
})
