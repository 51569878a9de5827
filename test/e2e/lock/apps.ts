import * as onExpress from '@sluice/express'
import * as onKoa from '@sluice/koa'
import express5, { type Express, type NextFunction, type Request, type Response } from 'express'
import express4 from 'express4'
import Koa3, { type Context, type Next } from 'koa'
import Koa2 from 'koa2'
import { type App, Site } from '../../support/http.ts'
import { expressTurn, koaTurn, type Turn } from '../idempotency/turns.ts'

/** The ways to lock a handler. */
export const guards = ['lock', 'withLock', 'Locked'] as const
export type Guard = (typeof guards)[number]

type Keys = string | readonly string[]

/** Options whose callbacks receive a {@link Turn} in every framework. */
export type Options = Omit<onExpress.LockOptions, 'metadata'> & {
  readonly metadata?: onExpress.LockMetadata | ((turn: Turn) => onExpress.LockMetadata)
}

/** A handler under a lock. */
export interface Locked extends Options {
  readonly guard: Guard
  readonly key: Keys | ((turn: Turn) => Keys | Promise<Keys>)
  /** With `next()` it hands the request on to the routes behind it. */
  readonly handler: (turn: Turn, next: () => Promise<unknown>) => unknown
}

export interface AppOptions {
  /** Runs before everything else. */
  readonly outer?: (turn: Turn, next: () => Promise<unknown>) => unknown
  /** Where `idempotency()` stands: before all locks, or behind the first one. */
  readonly idempotency?: 'before' | 'behind'
  /** By the beginning of the path. */
  readonly routes: Readonly<Record<string, Locked>>
}

interface ServedSite extends AsyncDisposable {
  readonly site: Site
  /** The errors that reached the framework's error handler. */
  readonly errors: readonly unknown[]
  /** What the handlers under `withLock` and `Locked` gave. */
  readonly results: readonly unknown[]
}

export interface Framework {
  readonly name: string
  readonly family: 'express' | 'koa'
  serve(options: AppOptions): Promise<ServedSite>
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
    serve: async ({ outer, idempotency, routes }) => {
      const errors: unknown[] = []
      const results: unknown[] = []
      const app = create()
      const runsOnce = onExpress.idempotency({
        store: onExpress.memoryStore(),
        fingerprint: () => '',
      })
      app.set('env', 'test')
      if (outer)
        app.use((req, res, next) => {
          settled(() => outer(expressTurn(req, res), async () => next())).catch(next)
        })
      if (idempotency === 'before') app.use(runsOnce)
      for (const [index, [path, locked]] of Object.entries(routes).entries()) {
        addRoute(app, path, locked, results)
        if (index === 0 && idempotency === 'behind') app.use(runsOnce)
      }
      app.use((error: unknown, _req: Request, _res: Response, next: NextFunction) => {
        errors.push(error)
        next(error)
      })
      return served(await Site.serve(app as App), errors, results)
    },
  }
}

function addRoute(app: Express, path: string, locked: Locked, results: unknown[]): void {
  const { guard, handler } = locked
  const key = translated(locked.key, expressTurn)
  const options = optionsOf(locked, expressTurn)
  const handle = (req: Request, res: Response, next: NextFunction) =>
    handler(expressTurn(req, res), async () => next())
  if (guard === 'lock') {
    app.use(path, onExpress.lock(key, options), (req, res, next) => {
      settled(() => handle(req, res, next)).catch(next)
    })
    return
  }
  const run = guard === 'withLock' ? onExpress.withLock(key, handle, options) : controller().run
  app.use(path, async (req, res, next) => {
    results.push(await run(req, res, next))
  })

  function controller() {
    class Controller {
      readonly #handle = handle

      @onExpress.Locked(key, options)
      method(req: Request, res: Response, next: NextFunction) {
        return this.#handle(req, res, next) as Promise<unknown>
      }

      readonly run = (req: Request, res: Response, next: NextFunction) =>
        this.method(req, res, next)
    }
    return new Controller()
  }
}

function onKoaApps(name: string, Koa: typeof Koa3): Framework {
  return {
    name,
    family: 'koa',
    serve: async ({ outer, idempotency, routes }) => {
      const errors: unknown[] = []
      const results: unknown[] = []
      const app = new Koa()
      const runsOnce = onKoa.idempotency({ store: onKoa.memoryStore(), fingerprint: () => '' })
      app.on('error', (error) => errors.push(error))
      if (outer)
        app.use(async (ctx, next) => {
          await outer(koaTurn(ctx), next)
        })
      if (idempotency === 'before') app.use(runsOnce)
      for (const [index, [path, locked]] of Object.entries(routes).entries()) {
        addStep(app, path, locked, results)
        if (index === 0 && idempotency === 'behind') app.use(runsOnce)
      }
      return served(await Site.serve(app), errors, results)
    },
  }
}

function addStep(app: Koa3, path: string, locked: Locked, results: unknown[]): void {
  const { guard, handler } = locked
  const key = translated(locked.key, koaTurn)
  const options = optionsOf(locked, koaTurn)
  const handle = (ctx: Context, next: Next) => handler(koaTurn(ctx), next)
  const lock = onKoa.lock(key, options)
  const run = guard === 'withLock' ? onKoa.withLock(key, handle, options) : controller().run
  app.use(async (ctx, next) => {
    if (!ctx.path.startsWith(path)) return next()
    if (guard === 'lock') return lock(ctx, async () => void (await handle(ctx, next)))
    results.push(await run(ctx, next))
  })

  function controller() {
    class Controller {
      readonly #handle = handle

      @onKoa.Locked(key, options)
      method(ctx: Context, next: Next) {
        return this.#handle(ctx, next) as Promise<unknown>
      }

      readonly run = (ctx: Context, next: Next) => this.method(ctx, next)
    }
    return new Controller()
  }
}

function served(site: Site, errors: readonly unknown[], results: readonly unknown[]): ServedSite {
  return { site, errors, results, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
}

/** Express 4 knows no promises: what is thrown and what rejects must look the same. */
async function settled(run: () => unknown): Promise<void> {
  await run()
}

function optionsOf<Call extends readonly unknown[]>(
  { guard: _guard, key: _key, handler: _handler, metadata, ...rest }: Locked,
  turn: (...call: Call) => Turn,
) {
  return { ...rest, ...(metadata !== undefined && { metadata: translated(metadata, turn) }) }
}

function translated<Value, Call extends readonly unknown[]>(
  value: Value | ((turn: Turn) => Value | Promise<Value>),
  turn: (...call: Call) => Turn,
): Value | ((...call: Call) => Value | Promise<Value>) {
  if (typeof value !== 'function') return value
  const callback = value as (turn: Turn) => Value | Promise<Value>
  return (...call) => callback(turn(...call))
}
