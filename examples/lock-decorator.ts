import { setTimeout as sleep } from 'node:timers/promises'
// #region controller
import { Locked } from '@sluice/express'
import express, { type Request, type Response } from 'express'

class Orders {
  readonly #paid = new Set<string>()

  @Locked((req) => `order:${req.params['id']}`, { waitMs: 2000 })
  async pay(req: Request<{ id: string }>, res: Response): Promise<void> {
    const { id } = req.params
    if (this.#paid.has(id)) {
      res.status(409).json({ error: 'already paid' })
      return
    }
    await charge(id, req.lease?.signal)
    this.#paid.add(id)
    res.status(201).json({ paid: id })
  }
}

const orders = new Orders()
const app = express()
app.post('/orders/:id/pay', (req, res) => orders.pay(req, res))

// #endregion
import { tryOut } from './support/try-out.ts'

let charges = 0

/** The bank takes its time. Without the lock, every request would find the order not paid yet. */
async function charge(_order: string, signal?: AbortSignal): Promise<void> {
  await sleep(50, undefined, { signal })
  charges++
}

await tryOut(app, async (ask) => {
  const pay = () => ask('/orders/7/pay', { method: 'POST' })
  console.log((await Promise.all([pay(), pay(), pay()])).sort().join('\n'))
  console.log(`charged ${charges === 1 ? 'once' : `${charges} times`}`)
})
