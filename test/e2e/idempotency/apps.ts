import * as onExpress from '@sluice/express'
import * as onKoa from '@sluice/koa'
import compression from 'compression'
import express5, { type Express, type Request, type Response } from 'express'
import express4 from 'express4'
import Koa3 from 'koa'
import bodyParser from 'koa-bodyparser'
import compress from 'koa-compress'
import Koa2 from 'koa2'
import { type App, type ServeOptions, Site } from '../../support/http.ts'
import { expressTurn, type Handler, koaTurn, type Turn } from './turns.ts'

/** Where a compressing middleware stands, seen from idempotency. */
export type Compression = 'absent' | 'before' | 'after'

/** The options whose callbacks every framework calls in its own way receive a {@link Turn}. */
type Options = Omit<
  onExpress.IdempotencyMiddlewareOptions,
  'scope' | 'fingerprint' | 'authorizeReplay'
> & {
  readonly scope?: (turn: Turn) => string
  readonly fingerprint?: (turn: Turn) => string
  readonly authorizeReplay?: (turn: Turn) => boolean
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
