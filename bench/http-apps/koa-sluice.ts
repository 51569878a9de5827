import { rateLimit, redisStore } from '@sluice/koa'
import Koa from 'koa'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { policyOf } from '../sluice-policy.ts'
import { serve } from './serve.ts'

const settings = readSettings()
const app = new Koa()
app.use(
  rateLimit({
    name: settings.algorithm,
    store: redisStore(await connect()),
    policy: policyOf(settings),
    key: (ctx) => ctx.get('x-subject'),
  }),
)
app.use((ctx) => {
  ctx.body = 'ok'
})
await serve(app.callback())
