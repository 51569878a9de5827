import { fixedWindow, Locked, rateLimit, redisStore, withLock } from '@sluice/express'
import express, { type Request, type Response } from 'express'
import { Redis } from 'ioredis'

const store = redisStore(new Redis({ lazyConnect: true }))
const policy = fixedWindow({ limit: 10, windowMs: 1000 })
const app = express()
app.use(
  rateLimit({ store, policy, key: (req) => req.path, refund: (_req, res) => res.statusCode < 400 }),
)
app.post(
  '/orders/:id/pay',
  withLock(
    (req) => `order:${req.params.id}`,
    async (req, res) => void res.json({ fence: req.lease.fence }),
    { store, waitMs: 2000 },
  ),
)

class Orders {
  @Locked((req) => `order:${req.params.id}`, { store })
  async cancel(req: Request<{ id: string }>, res: Response): Promise<void> {
    res.json({ order: req.params.id, fence: req.lease?.fence })
  }
}
const orders = new Orders()
app.post('/orders/:id/cancel', (req, res) => orders.cancel(req, res))
