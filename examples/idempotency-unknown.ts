import { createIdempotency, idempotency, memoryStore } from '@sluice/express'
import express from 'express'
import { tryOut } from './support/try-out.ts'

/** What the bank knows of, by the key that we send along. */
const bank = new Map<string, number>()

const store = memoryStore() // or redisStore(client)
const ann = 'ann'

const app = express()
app.use(express.json())
app.use(idempotency({ store, scope: () => ann }))
app.post('/payments', (req, res) => {
  const { key = '' } = req.idempotency ?? {}
  if (req.body.dies === 'after') bank.set(key, req.body.amount)
  if (req.body.dies) return res.destroy() // as if the process had died here
  bank.set(key, req.body.amount)
  return res.status(201).json({ amount: req.body.amount })
})

// #region reconcile
const operator = createIdempotency({ store }) // the same store

async function reconcile(graceMs: number): Promise<void> {
  for await (const { key, scope, since } of operator.unknown()) {
    // The first run may be slow instead of dead: what it still may do, `release` would do twice.
    if (Date.now() - since.getTime() < graceMs) continue
    const amount = bank.get(key) // ask whoever knows
    if (amount === undefined) {
      await operator.release(key, scope) // nothing happened, and nothing will: a retry may run
      console.log(`${key}: released`)
    } else {
      const headers = [['Content-Type', 'application/json; charset=utf-8']] as const
      const body = JSON.stringify({ amount })
      await operator.confirm(key, { status: 201, headers, body }, scope) // retries get this
      console.log(`${key}: confirmed`)
    }
  }
}
// #endregion

const pay = (key: string, dies: string): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
  body: JSON.stringify({ amount: 500, dies }),
})

await tryOut(app, async (ask) => {
  const order = pay('order-7', 'after')
  await ask('/payments', order).catch(() => console.log('order-7: no answer'))
  console.log(await ask('/payments', order)) // 409: nobody knows
  await ask('/payments', pay('order-8', 'before')).catch(() => console.log('order-8: no answer'))

  await reconcile(0)
  console.log(await ask('/payments', order)) // the answer that the first run could not give
  console.log(`order-8 may run again: ${(await operator.inspect('order-8', ann)) === undefined}`)
})
