import Koa from 'koa'
import { connect } from '../redis-client.ts'
import { serve } from './serve.ts'

const client = await connect()
const app = new Koa()
app.use(async (ctx, next) => {
  await client.incr(`floor:${ctx.get('x-subject')}`)
  await next()
})
app.use((ctx) => {
  ctx.body = 'ok'
})
await serve(app.callback())
