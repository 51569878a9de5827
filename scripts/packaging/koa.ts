import { fixedWindow, rateLimit, redisStore, withLock } from '@sluice/koa'
import { Redis } from 'ioredis'
import Koa from 'koa'

const store = redisStore(new Redis({ lazyConnect: true }))
const policy = fixedWindow({ limit: 10, windowMs: 1000 })
const app = new Koa()
app.use(rateLimit({ store, policy, key: (ctx) => ctx.path, refund: (ctx) => ctx.status < 400 }))
app.use(
  withLock(
    (ctx) => `account:${ctx.get('X-Account')}`,
    async (ctx) => {
      ctx.body = { fence: ctx.state.lease.fence }
    },
    { store, waitMs: 2000 },
  ),
)
