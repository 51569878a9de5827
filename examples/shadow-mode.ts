// #region app
import { fixedWindow, rateLimit, subscribe } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
// Nobody is refused and no client sees a field: only the events tell what would have happened.
app.use(
  rateLimit({
    name: 'api',
    policy: fixedWindow({ limit: 2, windowMs: 60_000 }),
    enforce: false,
    headers: false,
  }),
)

subscribe('sluice:rate-limit', (event) => {
  if (event.type === 'decision' && !event.decision.allowed)
    console.log(`${event.limiter} would have refused client ${event.keyHash}`)
})
// #endregion
app.get('/', (req, res) => {
  res.send(`allowed: ${req.rateLimit?.allowed}`)
})

await tryOut(app, async (ask) => {
  for (let n = 0; n < 3; n++) console.log(await ask('/'))
})
