import * as onExpress from '@sluice/express'
import * as onKoa from '@sluice/koa'
import express5, { type Express, type Request, type Response } from 'express'
import express4 from 'express4'
import Koa3, { type Context } from 'koa'
import Koa2 from 'koa2'
import { type App, type ServeOptions, Site } from '../support/http.ts'

/** One request and its response, in the words that all frameworks have in common. */
export interface Exchange {
  readonly method: string
  readonly path: string
  readonly headers: NodeJS.Dict<string | string[]>
  /** What `rateLimit()` left for handlers. */
  readonly decision: onExpress.Decision | undefined
  /** The response's status, as it stands. */
  readonly status: number
  set(name: string, value: string): void
  send(status: number, body: string): void
}

/** `rateLimit()` options whose callbacks receive an {@link Exchange}. */
export type Options = Omit<onExpress.RateLimitOptions, Callback> & {
  readonly policy?: Policies | ((exchange: Exchange) => Policies | Promise<Policies>)
  readonly key?: (exchange: Exchange) => string | Promise<string>
  readonly cost?: number | ((exchange: Exchange) => number | Promise<number>)
  readonly skip?: (exchange: Exchange) => boolean | Promise<boolean>
  readonly refund?: (exchange: Exchange) => boolean | Promise<boolean>
  readonly onLimited?: (exchange: Exchange, decision: onExpress.Decision) => unknown
}

type Policies = onExpress.Policy | readonly onExpress.Policy[]

type Callback = 'policy' | 'key' | 'cost' | 'skip' | 'refund' | 'onLimited'

/** How many proxies stand before the application: none, so many, or whatever the client claims. */
export type Proxies = number | 'any'

/** An application under test: steps run in the order in which they are added. */
export interface TestApp {
  /** What reached the framework's error handler. */
  readonly errors: readonly unknown[]
  limit(options?: Options): void
  /** Runs before what follows. */
  before(step: (exchange: Exchange) => void | Promise<void>): void
  /** Answers every request that gets here: 200 and what the handler returns. */
  answer(handler: (exchange: Exchange) => string | Promise<string>): void
  serve(options?: ServeOptions): Promise<Site>
}

export interface Framework {
  readonly name: string
  readonly family: 'express' | 'koa'
  app(options?: { readonly proxies?: Proxies }): TestApp
}

export const frameworks: readonly Framework[] = [
  { name: 'Express 4', family: 'express', app: (options) => new ExpressApp(express4(), options) },
  { name: 'Express 5', family: 'express', app: (options) => new ExpressApp(express5(), options) },
  { name: 'Koa 2', family: 'koa', app: (options) => new KoaApp(new Koa2(), options) },
  { name: 'Koa 3', family: 'koa', app: (options) => new KoaApp(new Koa3(), options) },
]

class ExpressApp implements TestApp {
  readonly errors: unknown[] = []
  readonly #app: Express

  constructor(app: Express, { proxies }: { readonly proxies?: Proxies } = {}) {
    this.#app = app
    app.disable('x-powered-by')
    app.disable('etag')
    if (proxies !== undefined) app.set('trust proxy', proxies === 'any' ? true : proxies)
  }

  limit(options: Options = {}): void {
    this.#app.use(onExpress.rateLimit(translate(options, expressExchange)))
  }

  before(step: (exchange: Exchange) => void | Promise<void>): void {
    this.#app.use((req, res, next) => {
      settled(() => step(expressExchange(req, res))).then(() => next(), next)
    })
  }

  answer(handler: (exchange: Exchange) => string | Promise<string>): void {
    this.#app.use((req, res, next) => {
      settled(() => handler(expressExchange(req, res))).then((body) => plain(res, 200, body), next)
    })
  }

  serve(options?: ServeOptions): Promise<Site> {
    this.#app.use(
      (error: unknown, _req: Request, _res: Response, next: (error: unknown) => void) => {
        this.errors.push(error)
        next(error)
      },
    )
    return Site.serve(this.#app as App, options)
  }
}

class KoaApp implements TestApp {
  readonly errors: unknown[] = []
  readonly #app: Koa3

  constructor(app: Koa3, { proxies }: { readonly proxies?: Proxies } = {}) {
    this.#app = app
    app.proxy = proxies !== undefined
    app.maxIpsCount = typeof proxies === 'number' ? proxies : 0
    app.on('error', (error) => this.errors.push(error))
  }

  limit(options: Options = {}): void {
    this.#app.use(onKoa.rateLimit(translate(options, koaExchange)))
  }

  before(step: (exchange: Exchange) => void | Promise<void>): void {
    this.#app.use(async (ctx, next) => {
      await step(koaExchange(ctx))
      await next()
    })
  }

  answer(handler: (exchange: Exchange) => string | Promise<string>): void {
    this.#app.use(async (ctx) => koaExchange(ctx).send(200, await handler(koaExchange(ctx))))
  }

  serve(options?: ServeOptions): Promise<Site> {
    return Site.serve(this.#app, options)
  }
}

function expressExchange(req: Request, res: Response): Exchange {
  return {
    method: req.method,
    path: req.path,
    headers: req.headers,
    get decision() {
      return req.rateLimit
    },
    get status() {
      return res.statusCode
    },
    set: (name, value) => void res.setHeader(name, value),
    send: (status, body) => plain(res, status, body),
  }
}

function koaExchange(ctx: Context): Exchange {
  return {
    method: ctx.method,
    path: ctx.path,
    headers: ctx.headers,
    get decision() {
      return ctx.state.rateLimit
    },
    get status() {
      return ctx.status
    },
    set: (name, value) => ctx.set(name, value),
    send: (status, body) => {
      ctx.status = status
      ctx.set('Content-Type', 'text/plain')
      ctx.body = body
    },
  }
}

function plain(res: Response, status: number, body: string): void {
  res.statusCode = status
  res.setHeader('Content-Type', 'text/plain')
  res.setHeader('Content-Length', Buffer.byteLength(body))
  res.end(body)
}

/** Express 4 knows no promises: what is thrown and what rejects must look the same. */
async function settled<T>(run: () => T | Promise<T>): Promise<T> {
  return run()
}

/** The options with callbacks as the framework calls them. */
function translate<Call extends readonly unknown[]>(
  { policy, key, cost, skip, refund, onLimited, ...rest }: Options,
  exchange: (...call: Call) => Exchange,
) {
  const translated =
    <T>(callback: (exchange: Exchange) => T) =>
    (...call: Call): T =>
      callback(exchange(...call))
  return {
    ...rest,
    ...(policy && { policy: typeof policy === 'function' ? translated(policy) : policy }),
    ...(key && { key: translated(key) }),
    ...(cost !== undefined && { cost: typeof cost === 'function' ? translated(cost) : cost }),
    ...(skip && { skip: translated(skip) }),
    ...(refund && { refund: translated(refund) }),
    ...(onLimited && {
      onLimited: (...call: [...Call, onExpress.Decision]) => {
        const decision = call.at(-1) as onExpress.Decision
        return onLimited(exchange(...(call.slice(0, -1) as unknown as Call)), decision)
      },
    }),
  }
}
