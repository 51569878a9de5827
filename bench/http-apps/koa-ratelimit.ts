import Koa from 'koa'
import ratelimit from 'koa-ratelimit'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { serve } from './serve.ts'

const { limit, windowMs } = readSettings()
const app = new Koa()
app.use(
  ratelimit({
    driver: 'redis',
    db: await connect(),
    duration: windowMs,
    max: limit,
    id: (ctx) => ctx.get('x-subject'),
  }),
)
app.use((ctx) => {
  ctx.body = 'ok'
})
await serve(app.callback())
