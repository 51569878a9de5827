import { createReadStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import * as onExpress from '@sluice/express'
import * as onKoa from '@sluice/koa'
import compression from 'compression'
import express5, { type Express, type Request, type Response } from 'express'
import express4 from 'express4'
import Koa3, { type Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import compress from 'koa-compress'
import Koa2 from 'koa2'
import { type App, type ServeOptions, Site } from '../../support/http.ts'

/** Where a compressing middleware stands, seen from idempotency. */
export type Compression = 'absent' | 'before' | 'after'

/** A request and the ways to answer it that frameworks have in common. */
export interface Turn {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  readonly body: unknown
  readonly idempotency: onExpress.RequestIdempotency | undefined
  /** Leaves the bytes of the body where an application keeps them. */
  keepRaw(bytes: Buffer): void
  status(status: number, reason?: string): void
  set(name: string, value: string | string[]): void
  json(value: unknown): void
  bytes(body: Buffer | string): void
  empty(status: number): void
  stream(body: Readable): void
  web(body: Blob | ReadableStream): void
  file(path: string): void
  redirect(url: string): void
  /** Writes to Node's response, past the framework. */
  raw(write: (res: ServerResponse) => void): void
}

export type Handler = (turn: Turn) => void | Promise<void>

/** The options whose callbacks every framework calls in its own way receive a {@link Turn}. */
export type Options = Omit<
  onExpress.IdempotencyMiddlewareOptions,
  'scope' | 'fingerprint' | 'authorizeReplay'
> & {
  readonly scope?: (turn: Turn) => string
  readonly fingerprint?: (turn: Turn) => string
  readonly authorizeReplay?: (turn: Turn) => boolean
}

/** A handler that writes to Node's response. */
export function rawly(write: (res: ServerResponse) => void): Handler {
  return (turn) => turn.raw(write)
}

export interface AppOptions extends Options {
  readonly compression?: Compression
  /** Whether bodies are parsed; default true. */
  readonly parse?: boolean
  /** Runs before idempotency. */
  readonly outer?: Handler
  readonly handler: Handler
  /** Answers what the handler threw, instead of the framework. */
  readonly onError?: (turn: Turn, error: unknown) => void
}

export interface Framework {
  readonly name: string
  readonly family: 'express' | 'koa'
  /** The errors that reached the framework's end are in `errors`. */
  serve(options: AppOptions, serveOptions?: ServeOptions): Promise<ServedSite>
}

export interface ServedSite extends AsyncDisposable {
  readonly site: Site
  readonly errors: readonly unknown[]
}

export const frameworks: readonly Framework[] = [
  onExpressApps('Express 4', express4),
  onExpressApps('Express 5', express5),
  onKoaApps('Koa 2', Koa2),
  onKoaApps('Koa 3', Koa3),
]

function onExpressApps(name: string, create: typeof express5): Framework {
  return {
    name,
    family: 'express',
    serve: async (options, serveOptions) => {
      const errors: unknown[] = []
      const app = create()
      app.disable('x-powered-by')
      app.set('env', 'test')
      assembleExpress(app, create, options, errors)
      return served(await Site.serve(app as App, serveOptions), errors)
    },
  }
}

function assembleExpress(
  app: Express,
  create: typeof express5,
  options: AppOptions,
  errors: unknown[],
): void {
  const { compression: place = 'absent', parse = true, outer, handler, onError, ...rest } = options
  if (place === 'before') app.use(compression({ threshold: 0 }))
  if (parse) app.use(create.json({ strict: false }))
  if (outer)
    app.use(
      (req, res, next) => void settled(() => outer(expressTurn(req, res))).then(() => next(), next),
    )
  app.use(onExpress.idempotency(translate(rest, expressTurn)))
  if (place === 'after') app.use(compression({ threshold: 0 }))
  const router = create.Router()
  router.use((req, res, next) => {
    settled(() => handler(expressTurn(req, res))).catch(next)
  })
  app.use('/mounted', router)
  app.use(router)
  app.use((error: unknown, req: Request, res: Response, next: (error: unknown) => void) => {
    errors.push(error)
    if (onError) onError(expressTurn(req, res), error)
    else next(error)
  })
}

function onKoaApps(name: string, Koa: typeof Koa3): Framework {
  return {
    name,
    family: 'koa',
    serve: async (options, serveOptions) => {
      const errors: unknown[] = []
      const app = new Koa()
      app.on('error', (error) => errors.push(error))
      assembleKoa(app, options)
      return served(await Site.serve(app, serveOptions), errors)
    },
  }
}

function assembleKoa(app: Koa3, options: AppOptions): void {
  const { compression: place = 'absent', parse = true, outer, handler, onError, ...rest } = options
  Reflect.set(app.context, 'compression', place)
  if (place === 'before') app.use(compress({ threshold: 0 }))
  if (parse) app.use(bodyParser({ strict: false }))
  if (onError)
    app.use(async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        ctx.app.emit('error', error, ctx)
        onError(koaTurn(ctx), error)
      }
    })
  if (outer)
    app.use(async (ctx, next) => {
      await outer(koaTurn(ctx))
      await next()
    })
  app.use(onKoa.idempotency(translate(rest, koaTurn)))
  if (place === 'after') app.use(compress({ threshold: 0 }))
  app.use(async (ctx) => {
    await handler(koaTurn(ctx))
  })
}

function expressTurn(req: Request, res: Response): Turn {
  return {
    req,
    res,
    path: req.path,
    body: req.body,
    idempotency: req.idempotency,
    keepRaw: (bytes) => void Reflect.set(req, 'rawBody', bytes),
    status: (status, reason) => {
      res.status(status)
      if (reason !== undefined) res.statusMessage = reason
    },
    set: (name, value) => void res.set(name, value),
    json: (value) => void res.json(value),
    bytes: (body) => void res.send(body),
    empty: (status) => void res.status(status).end(),
    stream: (body) => void body.pipe(res),
    web: (body) => {
      const stream = body instanceof Blob ? body.stream() : body
      Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0]).pipe(res)
    },
    file: (path) => void res.sendFile(path),
    redirect: (url) => void res.redirect(url),
    raw: (write) => void write(res),
  }
}

function koaTurn(ctx: Context): Turn {
  // Nor does koa-compress: it would take them for JSON.
  const knowsWebStreams = ctx.app instanceof Koa3 && Reflect.get(ctx, 'compression') === 'absent'
  return {
    req: ctx.req,
    res: ctx.res,
    path: ctx.path,
    body: ctx.request.body,
    idempotency: ctx.state.idempotency,
    keepRaw: (bytes) => void Reflect.set(ctx.request, 'rawBody', bytes),
    status: (status, reason) => {
      ctx.status = status
      if (reason !== undefined) ctx.message = reason
    },
    set: (name, value) => ctx.set(name, value),
    json: (value) => {
      ctx.body = JSON.stringify(value)
      ctx.type = 'json'
    },
    bytes: (body) => {
      ctx.body = body
    },
    empty: (status) => {
      ctx.body = null
      ctx.status = status
    },
    stream: (body) => {
      ctx.body = body
    },
    web: (body) => {
      const stream = body instanceof Blob ? body.stream() : body
      ctx.body = knowsWebStreams
        ? body
        : Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0])
    },
    file: (path) => {
      ctx.body = createReadStream(path)
    },
    redirect: (url) => ctx.redirect(url),
    raw: (write) => {
      ctx.respond = false
      // Koa expects 404 until somebody answers.
      ctx.res.statusCode = 200
      write(ctx.res)
    },
  }
}

function served(site: Site, errors: readonly unknown[]): ServedSite {
  return { site, errors, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
}

/** Express 4 knows no promises: what is thrown and what rejects must look the same. */
async function settled(run: () => void | Promise<void>): Promise<void> {
  return run()
}

function translate<Call extends readonly unknown[]>(
  { scope, fingerprint, authorizeReplay, ...rest }: Options,
  turn: (...call: Call) => Turn,
) {
  return {
    ...rest,
    ...(scope && { scope: (...call: Call) => scope(turn(...call)) }),
    ...(fingerprint && { fingerprint: (...call: Call) => fingerprint(turn(...call)) }),
    ...(authorizeReplay && { authorizeReplay: (...call: Call) => authorizeReplay(turn(...call)) }),
  }
}
