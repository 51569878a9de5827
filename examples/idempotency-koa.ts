// #region app
import { setTimeout as sleep } from 'node:timers/promises'
import { idempotency } from '@sluice/koa'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
// #endregion
import { tryOut } from './support/try-out.ts'

// #region app
let payments = 0

const app = new Koa()
app.use(bodyParser())
app.use(
  idempotency({
    scope: (ctx) => ctx.get('Authorization') || 'nobody', // yours: the user whom you authenticated
    onConcurrent: { waitMs: 5000 }, // a copy waits for the result of the first, instead of 409
  }),
)
app.use(async (ctx) => {
  await sleep(100) // the bank takes its time
  payments++
  ctx.status = 201
  ctx.body = { payment: payments }
})
// #endregion

const order: RequestInit = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'order-7' },
  body: '{"amount":500}',
}

await tryOut(app.callback(), async (ask) => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask('/payments', order)))
  console.log(answers.join(' '))
  console.log(`${payments} payment made`)
})
