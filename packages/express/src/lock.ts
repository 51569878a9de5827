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
import type { NextFunction, Request, Response } from 'express'
import { asError } from './as-error.ts'

/** Options of {@link lock}, {@link withLock} and {@link Locked}; a callback receives `(req, res)`. */
export interface LockOptions extends LockGateOptions<[req: Request, res: Response]> {}

/** What is locked: a key, several that are taken together, or a function of `(req, res)` that tells them. */
export type LockKey<
  Req extends IncomingMessage = Request,
  Res extends ServerResponse = Response,
> = LockKeyOf<[req: Req, res: Res]>

/** A request that holds a lock, as handlers of {@link withLock} receive it. */
export type LockedRequest<Req extends IncomingMessage = Request> = Req & { readonly lease: Lease }

/**
 * Lets one request a key at a time go on to the handlers behind it, in Express 4 and 5. The key is held until the
 * response went out, or its connection closed, and a handler has ended the response: a client that leaves frees nothing
 * under a handler that is still at work, and one that never ends its response holds the key for `maxHoldMs` (one that
 * sends a file or pipes a stream too, when its client breaks that off: `withLock` knows when it is done). Handlers find
 * `req.lease`.
 *
 * Who finds the key held for all of `waitMs` gets 423 and a problem document; while the store cannot be asked, 503.
 * Errors go to the error handler. Two guards of the same key on one request never meet: the second is refused after its
 * `waitMs`; give one guard both keys, as an array.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown, or a key or option that cannot be used.
 * @example
 * ```ts
 * import { lock } from '@sluice/express'
 * import express from 'express'
 *
 * const app = express()
 * app.use('/orders/:id', lock((req) => `order:${req.params.id}`, { waitMs: 2000 }))
 * app.post('/orders/:id/pay', (req, res) => res.json({ fence: req.lease?.fence }))
 * ```
 */
export function lock(key: LockKey, options: LockOptions = {}): LockHandler {
  const gate = new LockGate('lock', express, key, options)
  return function lock(req, res, next) {
    gate
      .surround([req as Request, res as Response], () => next())
      .catch((error: unknown) => {
        next(asError(error))
      })
  }
}

/**
 * A handler for any route: since it asks for no kind of parameters, those that a route's path names keep their types
 * in the handlers after it.
 */
export type LockHandler = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => void

/**
 * A handler that holds a lock while it runs: until the promise that it returns is settled. One that returns no promise
 * holds it until the response is finished, as under {@link lock}. What it throws goes to the error handler as it is, in
 * Express 4 too; what it returns is passed on, and `undefined` when it was not run. Refusals are those of {@link lock}.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown, or a key or option that cannot be used.
 * @example
 * ```ts
 * import { withLock } from '@sluice/express'
 * import express from 'express'
 *
 * const app = express()
 * app.post(
 *   '/orders/:id/pay',
 *   withLock((req) => `order:${req.params.id}`, async (req, res) => {
 *     res.json({ fence: req.lease.fence })
 *   }),
 * )
 * ```
 */
export function withLock<
  Req extends IncomingMessage = Request,
  Res extends ServerResponse = Response,
  Result = unknown,
>(
  key: LockKey<Req, Res>,
  handler: (req: LockedRequest<Req>, res: Res, next: NextFunction) => Result,
  options?: LockOptions & { readonly onStoreFailure?: 'closed' | undefined },
): (req: Req, res: Res, next: NextFunction) => Promise<Awaited<Result> | undefined>
/** With `onStoreFailure: 'open'` there may be no lease. */
export function withLock<
  Req extends IncomingMessage = Request,
  Res extends ServerResponse = Response,
  Result = unknown,
>(
  key: LockKey<Req, Res>,
  handler: (req: Req, res: Res, next: NextFunction) => Result,
  options: LockOptions,
): (req: Req, res: Res, next: NextFunction) => Promise<Awaited<Result> | undefined>
export function withLock(
  key: LockKey,
  handler: (req: LockedRequest, res: Response, next: NextFunction) => unknown,
  options: LockOptions = {},
): (req: Request, res: Response, next: NextFunction) => Promise<unknown> {
  const gate = new LockGate('withLock', express, key, options)
  checkHandler('withLock', handler)
  return function withLock(req, res, next) {
    return passed(
      gate.run([req, res], () => handler(req as LockedRequest, res, next)),
      next,
    )
  }
}

/**
 * {@link withLock} as a standard decorator for methods of controllers, called with `(req, res)` or `(req, res, next)`.
 * The method then returns a promise. With `next`, as Express 4 needs it, what it throws goes there; without, the promise
 * rejects.
 *
 * @throws ConfigurationError (`configuration`) as `withLock` does; and when it is applied as a legacy decorator
 * (`experimentalDecorators`), or to what is no method, as soon as the class is defined.
 * @example
 * ```ts
 * import { Locked } from '@sluice/express'
 * import express, { type Request, type Response } from 'express'
 *
 * class Orders {
 *   @Locked((req) => `order:${req.params.id}`, { waitMs: 2000 })
 *   async pay(req: Request, res: Response) {
 *     res.json({ fence: req.lease?.fence })
 *   }
 * }
 *
 * const orders = new Orders()
 * express().post('/orders/:id/pay', (req, res) => orders.pay(req, res))
 * ```
 */
export function Locked(key: LockKey, options: LockOptions = {}): LockedDecorator {
  checkCalled('Locked', options)
  const gate = new LockGate('Locked', express, key, options)
  const decorate = (method: (...args: readonly unknown[]) => unknown, context: unknown) => {
    checkDecorated('Locked', context)
    return async function locked(this: unknown, ...args: readonly unknown[]): Promise<unknown> {
      const [req, res, next] = args
      checkArguments('Locked', '(req, res) of Express', args, res)
      const run = () => Reflect.apply(method, this, args)
      return passed(gate.run([req as Request, res as Response], run), next)
    }
  }
  return decorate as LockedDecorator
}

/** What {@link Locked} makes: takes methods whose first parameters are a request and its response. */
export type LockedDecorator = <
  This,
  Args extends readonly [IncomingMessage, ServerResponse?, ...unknown[]],
  Result,
>(
  method: (this: This, ...args: Args) => Result,
  context: ClassMethodDecoratorContext<This, (this: This, ...args: Args) => Result>,
) => (this: This, ...args: Args) => Promise<Awaited<Result>>

const express: LockFramework<[req: Request, res: Response]> = {
  request: (req) => req,
  response: (_req, res) => res,
  answersByItself: () => true,
  idempotency: (req) => req.idempotency,
  kept: (req) => req.lease,
  keep: (lease, req) => {
    req.lease = lease
  },
  send: ({ status, contentType, body }, _req, res) => {
    res.statusCode = status
    res.setHeader('Content-Type', contentType)
    res.setHeader('Content-Length', body.length)
    res.end(body)
  },
}

/** Express 4 knows no promises, and Express 5 hears of an error by `next` as well. */
function passed<T>(running: Promise<T>, next: unknown): Promise<T | undefined> {
  if (typeof next !== 'function') return running
  return running.catch((error: unknown) => {
    next(asError(error))
    return undefined
  })
}
