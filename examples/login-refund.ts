// #region app
import { addressKey, rateLimit, slidingLog } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const app = express()
app.post(
  '/login',
  express.json(),
  rateLimit({
    name: 'login',
    policy: slidingLog({ name: 'attempts', limit: 3, windowMs: 15 * 60_000 }),
    // An account from one address: nobody can lock its owner out from elsewhere.
    key: (req) => `${addressKey(req.ip)} ${req.body?.user}`,
    // Only failures count. Whoever hangs up before the answer has spent an attempt all the same.
    refund: (_req, res) => res.statusCode < 400,
  }),
  (req, res) => {
    const welcome = req.body?.password === 'correct horse'
    res.status(welcome ? 200 : 401).send(welcome ? 'welcome' : 'wrong password')
  },
)
// #endregion

const login = (password: string): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ user: 'ann', password }),
})

await tryOut(app, async (ask) => {
  for (let n = 0; n < 5; n++) await ask('/login', login('correct horse')) // refunded each time
  for (let n = 0; n < 4; n++) await ask('/login', login(`guess ${n}`)) // the fourth is refused
})
