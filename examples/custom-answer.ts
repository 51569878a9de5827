// #region app
import { fixedWindow, rateLimit } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
app.use(
  rateLimit({
    policy: fixedWindow({ limit: 1, windowMs: 60_000 }),
    onLimited(req, res, decision) {
      // Status 429, RateLimit and Retry-After are set already; the rest is yours.
      const seconds = Math.ceil(decision.retryAfterMs / 1000)
      if (req.accepts('html')) res.send(`<h1>One moment</h1><p>Come back in ${seconds} s.</p>`)
      else res.json({ error: 'slow-down', policy: decision.policy, seconds })
    },
  }),
)
// #endregion
app.get('/', (_req, res) => {
  res.send('hello')
})

await tryOut(app, async (ask) => {
  console.log(await ask('/'))
  console.log(await ask('/', { headers: { Accept: 'text/html' } }))
  console.log(await ask('/', { headers: { Accept: 'application/json' } }))
})
