import { type IdempotencyMiddlewareOptions, idempotency } from '@sluice/express'
import express, { type ErrorRequestHandler, type Express } from 'express'

/** The route under test: it charges a card, and its answer goes out in two halves, before and after. */
export function openShop(
  app: Express,
  options: IdempotencyMiddlewareOptions,
  charge: (order: string) => Promise<string>,
): void {
  app.post('/orders', express.json(), idempotency(options), async (req, res) => {
    const { order } = req.body
    res.type('text').write(firstHalf(order))
    res.end(secondHalf(await charge(order)))
  })
  app.use('/orders', breakOff)
}

/** The whole answer, for the operator who has to write it himself. */
export function answerOf(order: string, receipt: string): string {
  return firstHalf(order) + secondHalf(receipt)
}

function firstHalf(order: string): string {
  return `${order} accepted, charging the card ... `
}

function secondHalf(receipt: string): string {
  return `charged, receipt ${receipt}\n`
}

/** An answer that is half-way out cannot become an error any more: it ends where it is. */
const breakOff: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) res.destroy()
  else next(error)
}
