import { idempotency, redisStore } from '@sluice/express'
import express from 'express'
import { placeOrder, TTL_MS, tellExecutions } from '../idempotency/orders.ts'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const app = express()
app.use(express.json())
app.use(idempotency({ store: redisStore(await connect()), resultTtlMs: TTL_MS }))
app.post('/', (_req, res) => {
  res.json(placeOrder())
})
await serve(app, tellExecutions)
