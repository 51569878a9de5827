import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Lease } from '@sluice/core'
import {
  checkArguments,
  checkCalled,
  checkDecorated,
  checkHandler,
  type LockFramework,
  LockGate,
  type LockGateOptions,
  type LockKey as LockKeyOf,
} from '@sluice/core/adapter'
import type { Context, Middleware, Next } from 'koa'

/** Options of {@link lock}, {@link withLock} and {@link Locked}; a callback receives `(ctx)`. */
export interface LockOptions extends LockGateOptions<[ctx: Context]> {}

/** What is locked: a key, several that are taken together, or a function of `(ctx)` that tells them. */
export type LockKey<Ctx extends AnyContext = Context> = LockKeyOf<[ctx: Ctx]>

/** A context that holds a lock, as handlers of {@link withLock} receive it. */
export type LockedContext<Ctx extends AnyContext = Context> = Ctx & {
  readonly state: { readonly lease: Lease }
}

/** What every context of Koa has, whatever routers add. */
export interface AnyContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

/**
 * Lets one request a key at a time go on to the middleware behind it, in Koa 2 and 3. The key is held until that is
 * done, and the response went out or its connection closed: a client that leaves frees nothing under a handler that is
 * still at work. With `ctx.respond = false`, a handler is done when it ended the response. Handlers find
 * `ctx.state.lease`.
 *
 * Who finds the key held for all of `waitMs` gets 423 and a problem document; while the store cannot be asked, 503.
 * Errors are thrown. Two guards of the same key on one request never meet: the second is refused after its `waitMs`;
 * give one guard both keys, as an array.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown, or a key or option that cannot be used.
 * @example
 * ```ts
 * import { lock } from '@sluice/koa'
 * import Koa from 'koa'
 *
 * const app = new Koa()
 * app.use(lock((ctx) => `account:${ctx.get('X-Account')}`, { waitMs: 2000 }))
 * app.use((ctx) => {
 *   ctx.body = { fence: ctx.state.lease?.fence }
 * })
 * ```
 */
export function lock(key: LockKey, options: LockOptions = {}): Middleware {
  const gate = new LockGate('lock', koa, key, options)
  return function lock(ctx, next) {
    return gate.surround([ctx], next)
  }
}

/**
 * A handler that holds a lock while it runs: until the promise that it returns is settled. What it throws is thrown as
 * it is; what it returns is passed on, and `undefined` when it was not run. Refusals are those of {@link lock}.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown, or a key or option that cannot be used.
 * @example
 * ```ts
 * import { withLock } from '@sluice/koa'
 * import Koa from 'koa'
 *
 * const app = new Koa()
 * app.use(
 *   withLock((ctx) => `account:${ctx.get('X-Account')}`, async (ctx) => {
 *     ctx.body = { fence: ctx.state.lease.fence }
 *   }),
 * )
 * ```
 */
export function withLock<Ctx extends AnyContext = Context, Result = unknown>(
  key: LockKey<Ctx>,
  handler: (ctx: LockedContext<Ctx>, next: Next) => Result,
  options?: LockOptions & { readonly onStoreFailure?: 'closed' | undefined },
): (ctx: Ctx, next: Next) => Promise<Awaited<Result> | undefined>
/** With `onStoreFailure: 'open'` there may be no lease. */
export function withLock<Ctx extends AnyContext = Context, Result = unknown>(
  key: LockKey<Ctx>,
  handler: (ctx: Ctx, next: Next) => Result,
  options: LockOptions,
): (ctx: Ctx, next: Next) => Promise<Awaited<Result> | undefined>
export function withLock(
  key: LockKey,
  handler: (ctx: LockedContext, next: Next) => unknown,
  options: LockOptions = {},
): (ctx: Context, next: Next) => Promise<unknown> {
  const gate = new LockGate('withLock', koa, key, options)
  checkHandler('withLock', handler)
  return function withLock(ctx, next) {
    return gate.run([ctx], () => handler(ctx as LockedContext, next))
  }
}

/**
 * {@link withLock} as a standard decorator for methods of controllers, called with `(ctx)` or `(ctx, next)`. The method
 * then returns a promise.
 *
 * @throws ConfigurationError (`configuration`) as `withLock` does; and when it is applied as a legacy decorator
 * (`experimentalDecorators`), or to what is no method, as soon as the class is defined.
 * @example
 * ```ts
 * import { Locked } from '@sluice/koa'
 * import Koa, { type Context } from 'koa'
 *
 * class Accounts {
 *   @Locked((ctx) => `account:${ctx.get('X-Account')}`, { waitMs: 2000 })
 *   async close(ctx: Context) {
 *     ctx.body = { fence: ctx.state.lease?.fence }
 *   }
 * }
 *
 * const accounts = new Accounts()
 * new Koa().use((ctx) => accounts.close(ctx))
 * ```
 */
export function Locked(key: LockKey, options: LockOptions = {}): LockedDecorator {
  checkCalled('Locked', options)
  const gate = new LockGate('Locked', koa, key, options)
  const decorate = (method: (...args: readonly unknown[]) => unknown, context: unknown) => {
    checkDecorated('Locked', context)
    return async function locked(this: unknown, ...args: readonly unknown[]): Promise<unknown> {
      const [ctx] = args as readonly [Context?]
      checkArguments('Locked', '(ctx) of Koa', args, ctx?.res)
      return gate.run([ctx as Context], () => Reflect.apply(method, this, args))
    }
  }
  return decorate as LockedDecorator
}

/** What {@link Locked} makes: takes methods whose first parameter is a context. */
export type LockedDecorator = <This, Args extends readonly [AnyContext, ...unknown[]], Result>(
  method: (this: This, ...args: Args) => Result,
  context: ClassMethodDecoratorContext<This, (this: This, ...args: Args) => Result>,
) => (this: This, ...args: Args) => Promise<Awaited<Result>>

const koa: LockFramework<[ctx: Context]> = {
  request: (ctx) => ctx.req,
  response: (ctx) => ctx.res,
  answersByItself: (ctx) => ctx.respond === false,
  idempotency: (ctx) => ctx.state.idempotency,
  kept: (ctx) => ctx.state.lease,
  keep: (lease, ctx) => {
    ctx.state.lease = lease
  },
  send: ({ status, contentType, body }, ctx) => {
    ctx.status = status
    ctx.set('Content-Type', contentType)
    ctx.body = body
  },
}
