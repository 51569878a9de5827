import { Idempotency, type IdempotencyParams } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { placeOrder, TTL_MS, tellExecutions } from '../idempotency/orders.ts'
import { readSettings } from '../settings.ts'
import { serve } from './serve.ts'

const storage = new RedisStorageAdapter({ url: `redis://127.0.0.1:${readSettings().redisPort}` })
await storage.connect()
const idempotency = new Idempotency(storage, { cacheTTLMS: TTL_MS })
const app = new Koa()
app.use(bodyParser())

/** It has no middleware for Koa or Express; this does what its own ones for other frameworks do. */
app.use(async (ctx, next) => {
  const request: IdempotencyParams = {
    headers: ctx.headers,
    path: ctx.path,
    body: ctx.request.body as Record<string, unknown>,
    method: ctx.method,
  }
  const stored = await idempotency.onRequest(request)
  if (stored) {
    ctx.status = Number(stored.additional?.['statusCode'] ?? 200)
    ctx.body = stored.body
    return
  }
  await next()
  await idempotency.onResponse(request, {
    body: ctx.body,
    additional: { statusCode: ctx.status },
  })
})
app.use((ctx) => {
  ctx.body = placeOrder()
})
await serve(app.callback(), tellExecutions)
