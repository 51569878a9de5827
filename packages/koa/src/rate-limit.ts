import {
  type Framework,
  RateLimitGate,
  type RateLimitOptions as RateLimitOptionsOf,
} from '@sluice/core/adapter'
import type { Context, Middleware } from 'koa'
import { keepFields } from './keep-fields.ts'

/** Options of {@link rateLimit}; every callback receives `(ctx)`, `onLimited` the decision after it. */
export interface RateLimitOptions extends RateLimitOptionsOf<[ctx: Context]> {}

/**
 * Limits how fast a caller may go, in Koa 2 and 3. The decision is in `ctx.state.rateLimit`; with several
 * limits on one request, the last one's. A request over its limit is answered with 429 and a problem
 * document; errors are thrown.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or cannot be used.
 * @example
 * ```ts
 * import { rateLimit, tokenBucket } from '@sluice/koa'
 * import Koa from 'koa'
 *
 * const app = new Koa()
 * app.use(rateLimit({ policy: tokenBucket({ capacity: 20, refill: 5, refillMs: 1000 }) }))
 * ```
 */
export function rateLimit(options: RateLimitOptions = {}): Middleware {
  const gate = new RateLimitGate(koa, options)
  return async function rateLimit(ctx, next) {
    try {
      if (await gate.enter(ctx)) await next()
    } catch (error) {
      keepFields(ctx)
      throw error
    }
  }
}

const koa: Framework<[ctx: Context]> = {
  request: (ctx) => ctx.req,
  response: (ctx) => ctx.res,
  address: (ctx) => ctx.ip,
  proxyTrust: ({ app }) => {
    if (!app.proxy) return 'none'
    // Koa then takes the first address of the field, which is the client's own claim.
    const first = app.proxyIpHeader.toLowerCase() === 'x-forwarded-for' && !(app.maxIpsCount > 0)
    return first ? 'every' : 'some'
  },
  proxyAdvice: 'Set how many proxies there are: app.proxy = true and app.maxIpsCount = 1.',
  idempotency: (ctx) => ctx.state.idempotency,
  keep: (decision, ctx) => {
    ctx.state.rateLimit = decision
  },
  setStatus: (status, ctx) => {
    ctx.status = status
  },
  send: ({ status, contentType, body }, ctx) => {
    ctx.status = status
    ctx.set('Content-Type', contentType)
    ctx.body = body
  },
}
