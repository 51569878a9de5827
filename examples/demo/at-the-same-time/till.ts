import { type LockOptions, withLock } from '@sluice/express'
import express, { type Express } from 'express'
import type { Books } from './ledger.ts'

/** The route under test: one order, paid under its lock; the fence goes with the write. */
export function openTill(app: Express, options: LockOptions, books: Books): void {
  app.post(
    '/tills/orders/:order/pay',
    express.json(),
    withLock(
      (req) => `order:${req.params['order']}`,
      async (req, res) => {
        const { payment } = req.body
        if (await books.look(payment)) return void res.send('found paid')
        const taken = await books.write(payment, req.lease?.fence ?? 0)
        res.send(taken ? 'paid' : 'late')
      },
      options,
    ),
  )
}
