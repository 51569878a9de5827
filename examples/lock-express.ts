import { setTimeout as sleep } from 'node:timers/promises'
// #region app
import { lock, withLock } from '@sluice/express'
import express, { type Request } from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

const order = { paid: 0, lastFence: 0 }

/** Your database: it refuses what comes too late, see lock-fence.ts. */
async function pay(fence: number): Promise<boolean> {
  await sleep(100) // the bank takes its time
  if (order.lastFence >= fence) return false
  order.lastFence = fence
  order.paid++
  return true
}

// #region app
const app = express()
const keyOf = (req: Request<{ id: string }>) => `order:${req.params.id}`

app.post(
  '/orders/:id/pay',
  withLock(keyOf, async (req, res) => {
    res.sendStatus((await pay(req.lease.fence)) ? 201 : 409)
  }),
)

// In front of handlers that cannot be wrapped; for two seconds a request stands in line.
app.use('/reports', lock('reports', { waitMs: 2000 }))
app.get('/reports/daily', (req, res) => {
  res.json({ locked: req.lease !== undefined })
})
// #endregion

await tryOut(app, async (ask) => {
  const payment: RequestInit = { method: 'POST' }
  const [first, second] = await Promise.all([
    ask('/orders/7/pay', payment),
    ask('/orders/7/pay', payment), // 423, as application/problem+json
  ])
  console.log([first, second].sort().join('\n'))
  console.log(await ask('/orders/7/pay', payment))
  console.log(`paid ${order.paid} times`)
  console.log(...(await Promise.all([ask('/reports/daily'), ask('/reports/daily')])))
})
