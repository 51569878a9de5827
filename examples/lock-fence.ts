import { EventEmitter, once } from 'node:events'
import { PGlite } from '@electric-sql/pglite'
// #region pay
import { type LockedRequest, withLock } from '@sluice/express'
import express, { type Request, type Response } from 'express'
// #endregion
import { tryOut } from './support/try-out.ts'

const database = await PGlite.create()
await database.exec(
  'CREATE TABLE orders (id text PRIMARY KEY, paid_by text, last_fence bigint NOT NULL DEFAULT 0)',
)
await database.query("INSERT INTO orders (id) VALUES ('7')")

// #region pay
const app = express()

async function pay(req: LockedRequest<Request<{ id: string }>>, res: Response): Promise<void> {
  const payer = await chooseBank(req)
  // The lease may be over by now, whatever this process believes. The database knows better.
  const { affectedRows } = await database.query(
    'UPDATE orders SET paid_by = $1, last_fence = $2 WHERE id = $3 AND last_fence < $2',
    [payer, req.lease.fence, req.params.id],
  )
  res.sendStatus(affectedRows === 1 ? 201 : 409)
}

app.post(
  '/orders/:id/pay',
  withLock((req: Request<{ id: string }>) => `order:${req.params.id}`, pay, {
    waitMs: 10_000,
    leaseMs: 200,
    renew: false, // to show here what happens to a process that freezes for longer than its lease
  }),
)
// #endregion

const story = new EventEmitter()

/** Ann's request stands still, as in a process that is paused; nothing tells it how long. */
async function chooseBank(req: Request): Promise<string> {
  const payer = req.get('X-Payer') ?? 'nobody'
  if (payer === 'ann') {
    story.emit('frozen')
    await once(story, 'thawed')
  }
  return payer
}

await tryOut(app, async (ask) => {
  const as = (payer: string) =>
    ask('/orders/7/pay', { method: 'POST', headers: { 'X-Payer': payer } })
  const frozen = once(story, 'frozen')
  const late = as('ann')
  await frozen
  await as('ben') // 201: when her lease is over he gets the lock, and a higher fence
  story.emit('thawed')
  await late // 409: hers is lower
  const { rows } = await database.query('SELECT paid_by FROM orders')
  console.log(rows)
})
await database.close()
