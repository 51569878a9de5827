import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { placeOrder, TTL_MS, tellExecutions } from '../idempotency/orders.ts'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const client = await connect()
const app = new Koa()
app.use(bodyParser())
app.use(async (ctx, next) => {
  const key = `floor:${ctx.get('idempotency-key')}`
  const stored = await client.get(key)
  if (stored !== null) {
    ctx.type = 'json'
    ctx.body = stored
    return
  }
  await next()
  await client.set(key, JSON.stringify(ctx.body), 'PX', TTL_MS)
})
app.use((ctx) => {
  ctx.body = placeOrder()
})
await serve(app.callback(), tellExecutions)
