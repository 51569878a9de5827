// #region app
import { fixedWindow, rateLimit } from '@sluice/express'
import express, { type Request } from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
const plans = {
  free: fixedWindow({ limit: 2, windowMs: 60_000 }),
  pro: fixedWindow({ limit: 100, windowMs: 60_000 }),
}
const customers = new Map<string, keyof typeof plans>([['ann', 'free']]) // your database

const customerOf = (req: Request) => req.get('X-Api-Key') ?? 'anonymous'

const app = express()
app.use(
  rateLimit({
    key: customerOf,
    policy: (req) => plans[customers.get(customerOf(req)) ?? 'free'], // may be async
  }),
)
// #endregion
app.get('/', (_req, res) => {
  res.send('hello')
})

await tryOut(app, async (ask) => {
  const ann = { headers: { 'X-Api-Key': 'ann' } }
  for (let n = 0; n < 3; n++) await ask('/', ann)
  console.log('Ann buys the pro plan; what she has spent stays spent.')
  customers.set('ann', 'pro')
  await ask('/', ann)
})
