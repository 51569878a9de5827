import { fixedWindow, rateLimit, redisStore } from '@sluice/koa'
import { Redis } from 'ioredis'
import Koa from 'koa'

const store = redisStore(new Redis({ lazyConnect: true }))
const policy = fixedWindow({ limit: 10, windowMs: 1000 })
new Koa().use(
  rateLimit({ store, policy, key: (ctx) => ctx.path, refund: (ctx) => ctx.status < 400 }),
)
