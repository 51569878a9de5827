import express from 'express'
import {
  getSharedIdempotencyService,
  type IdempotencyResource,
  type IIdempotencyDataAdapter,
  idempotency,
} from 'express-idempotency'
import { placeOrder, TTL_MS, tellExecutions } from '../idempotency/orders.ts'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const client = await connect()

/** There is none for Redis to install, so this is the least that its interface asks for: a command a call. */
const dataAdapter: IIdempotencyDataAdapter = {
  async findByIdempotencyKey(key) {
    const stored = await client.get(nameOf(key))
    return stored === null ? null : (JSON.parse(stored) as IdempotencyResource)
  },
  async create(resource) {
    const name = nameOf(resource.idempotencyKey)
    const created = await client.set(name, JSON.stringify(resource), 'PX', TTL_MS, 'NX')
    if (created === null) throw new Error('Duplicate')
  },
  async update(resource) {
    await client.set(nameOf(resource.idempotencyKey), JSON.stringify(resource), 'PX', TTL_MS)
  },
  async delete(key) {
    await client.del(nameOf(key))
  },
}

const app = express()
app.use(express.json())
app.use(idempotency({ dataAdapter }))
app.post('/', (req, res) => {
  if (getSharedIdempotencyService().isHit(req)) return
  res.json(placeOrder())
})
await serve(app, tellExecutions)

function nameOf(key: string): string {
  return `express-idempotency:${key}`
}
