import { STATUS_CODES } from 'node:http'
import {
  type IdempotencyFramework,
  IdempotencyGate,
  type IdempotencyGateOptions,
} from '@sluice/core/adapter'
import type { Context, Middleware } from 'koa'

/** Options of {@link idempotency}; every callback receives `(ctx)`. */
export interface IdempotencyMiddlewareOptions extends IdempotencyGateOptions<[ctx: Context]> {}

/**
 * Runs the middleware behind it once for each idempotency key, in Koa 2 and 3, and answers retries with the response of
 * the first run. Mount it after the parsers of bodies and after what authorizes callers. Handlers find
 * `ctx.state.idempotency`; errors are thrown, and what Koa answers is the response.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or cannot be used.
 * @example
 * ```ts
 * import { idempotency } from '@sluice/koa'
 * import Koa from 'koa'
 *
 * const app = new Koa()
 * app.use(idempotency({ scope: (ctx) => ctx.get('X-Account') }))
 * ```
 */
export function idempotency(options: IdempotencyMiddlewareOptions = {}): Middleware {
  const gate = new IdempotencyGate(koa, options)
  return async function idempotency(ctx, next) {
    if (!(await gate.enter(ctx))) return
    try {
      await next()
    } catch (error) {
      // After the head Koa only reports it, and leaves the response as it is.
      gate.failed(ctx)
      throw error
    }
  }
}

const koa: IdempotencyFramework<[ctx: Context]> = {
  request: (ctx) => ctx.req,
  response: (ctx) => ctx.res,
  originalUrl: (ctx) => ctx.originalUrl,
  content: (ctx) => ({
    raw: Reflect.get(ctx.request, 'rawBody'),
    parsed: Reflect.get(ctx.request, 'body'),
    files: [
      Reflect.get(ctx.request, 'file'),
      Reflect.get(ctx.request, 'files'),
      Reflect.get(ctx, 'file'),
      Reflect.get(ctx, 'files'),
    ],
  }),
  parserAdvice: (contentType) => `mount ${parserFor(contentType)}`,
  keep: (handle, ctx) => {
    ctx.state.idempotency = handle
  },
  send: ({ status, contentType, body }, ctx) => {
    ctx.status = status
    ctx.set('Content-Type', contentType)
    ctx.body = body
  },
  replay: ({ status, reason, fields, body }, ctx) => {
    // Koa sends it when outer middleware has had its turn. Its setters know only registered statuses.
    ctx.status = STATUS_CODES[status] === undefined ? 200 : status
    ctx.body = hasNoBody(status) ? null : body
    ctx.res.statusCode = status
    // Koa takes the type of a response away once more when it sends none.
    if (hasNoBody(status)) Object.defineProperty(ctx, 'body', { value: null, writable: true })
    if (reason !== undefined) ctx.message = reason
    // Koa guesses a type where there is none.
    ctx.remove('Content-Type')
    for (const [name, values] of fields)
      ctx.set(name, values.length === 1 ? String(values[0]) : [...values])
  },
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function parserFor(contentType: string): string {
  if (/^\s*multipart\//i.test(contentType)) return '@koa/multer or koa-body'
  if (/json|urlencoded|^\s*text\//i.test(contentType))
    return 'koa-bodyparser, with this type enabled,'
  return 'a parser that leaves the bytes in ctx.request.rawBody'
}
