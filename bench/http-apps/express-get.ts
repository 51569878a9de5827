import express from 'express'
import { placeOrder, TTL_MS, tellExecutions } from '../idempotency/orders.ts'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const client = await connect()
const app = express()
app.use(express.json())
app.post('/', async (req, res) => {
  const key = `floor:${req.get('idempotency-key')}`
  const stored = await client.get(key)
  if (stored !== null) {
    res.type('json').send(stored)
    return
  }
  const order = placeOrder()
  await client.set(key, JSON.stringify(order), 'PX', TTL_MS)
  res.json(order)
})
await serve(app, tellExecutions)
