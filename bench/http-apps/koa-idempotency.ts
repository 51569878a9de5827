import { idempotency, redisStore } from '@sluice/koa'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { placeOrder, TTL_MS, tellExecutions } from '../idempotency/orders.ts'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const app = new Koa()
app.use(bodyParser())
app.use(idempotency({ store: redisStore(await connect()), resultTtlMs: TTL_MS }))
app.use((ctx) => {
  ctx.body = placeOrder()
})
await serve(app.callback(), tellExecutions)
