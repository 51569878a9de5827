// #region app
import { idempotency } from '@sluice/express'
import express from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

const authenticate: express.RequestHandler = (req, res, next) => {
  res.locals['user'] = req.get('Authorization') ?? 'nobody' // yours checks it
  next()
}

// #region app
let payments = 0

const app = express()
app.use(express.json(), authenticate) // yours: it sets res.locals.user
app.use(idempotency({ scope: (_req, res) => res.locals['user'] }))
app.post('/payments', (req, res) => {
  payments++
  res.status(201).json({ payment: payments, amount: req.body.amount })
})
// #endregion

const pay = (key: string, body: string): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key, Authorization: 'ann' },
  body,
})

await tryOut(app, async (ask) => {
  console.log(await ask('/payments', pay('order-7', '{"amount":500,"currency":"EUR"}')))
  console.log(await ask('/payments', pay('order-7', '{"currency":"EUR","amount":500}'))) // a retry
  console.log(await ask('/payments', pay('order-7', '{"amount":900,"currency":"EUR"}'))) // 422
  console.log(await ask('/payments', pay('order-8', '{"amount":900,"currency":"EUR"}')))
  console.log(`${payments} payments made`)
})
