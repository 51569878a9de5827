import type { Lease } from '@sluice/core'
import * as forExpress from '@sluice/express'
import * as forKoa from '@sluice/koa'
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import type Koa from 'koa'
import type { Context, Middleware, Next } from 'koa'
import { assertType, describe, expectTypeOf, test } from 'vitest'

declare const express: Express
declare const koa: Koa

describe('in Express', () => {
  test('L15: lock() is a handler for any route, and leaves the parameters that its path names their types', () => {
    expectTypeOf(forExpress.lock('k')).toExtend<RequestHandler>()
    const route = () =>
      express.post('/orders/:id/pay', forExpress.lock('k'), (req) => {
        expectTypeOf(req.params.id).toEqualTypeOf<string>()
        expectTypeOf(req.lease).toEqualTypeOf<Lease | undefined>()
      })
    expectTypeOf(route).returns.toEqualTypeOf<Express>()
  })

  test('L15: keys are strings, arrays of them, or callbacks of (req, res) that give such, sync or async', () => {
    type Key = forExpress.LockKey
    expectTypeOf<Extract<Key, (...call: never) => unknown>>().parameters.toEqualTypeOf<
      [Request, Response]
    >()
    assertType<Key>('order:7')
    assertType<Key>(['order:7', 'stock:1'] as const)
    assertType<Key>(async (req) => [req.path])
    expectTypeOf<(req: Request) => number>().not.toExtend<Key>()
    expectTypeOf<(req: Request) => string | undefined>().not.toExtend<Key>()
  })

  test('L15, L16: withLock() infers its parameters, and its handler surely has a lease', () => {
    const route = () =>
      express.post(
        '/orders/:id/pay',
        forExpress.withLock(
          (req, res) => {
            expectTypeOf(req).toEqualTypeOf<Request>()
            expectTypeOf(res).toEqualTypeOf<Response>()
            return `order:${req.params['id']}`
          },
          async (req, res, next) => {
            expectTypeOf(req).toExtend<Request>()
            expectTypeOf(req.lease).toEqualTypeOf<Lease>()
            expectTypeOf(req.lease.fence).toEqualTypeOf<number>()
            expectTypeOf(res).toEqualTypeOf<Response>()
            expectTypeOf(next).toEqualTypeOf<NextFunction>()
          },
          { leaseMs: 10_000, waitMs: 2_000, metadata: (req) => ({ path: req.path }) },
        ),
      )
    expectTypeOf(route).returns.toEqualTypeOf<Express>()
  })

  test('L15: one annotation, of the key or of the handler, types the parameters that a path names', () => {
    const route = () =>
      express.post(
        '/orders/:id/pay',
        forExpress.withLock(
          (req: Request<{ id: string }>) => `order:${req.params.id}`,
          async (req) => {
            expectTypeOf(req.params.id).toEqualTypeOf<string>()
            expectTypeOf(req.lease).toEqualTypeOf<Lease>()
          },
        ),
        (req) => expectTypeOf(req.params.id).toEqualTypeOf<string>(),
      )
    expectTypeOf(route).returns.toEqualTypeOf<Express>()
    const handler = forExpress.withLock('k', (req: Request<{ id: string }>, _res: Response) => {
      expectTypeOf(req.params).toEqualTypeOf<{ id: string }>()
    })
    expectTypeOf(handler).parameter(0).toEqualTypeOf<Request<{ id: string }>>()
    expectTypeOf(handler).toExtend<RequestHandler<{ id: string }>>()
  })

  test('L15: withLock() needs no route, and passes on what a handler returns', () => {
    const alone = forExpress.withLock('k', async (req, res) => {
      expectTypeOf(req).toExtend<Request>()
      expectTypeOf(res).toEqualTypeOf<Response>()
      return 7
    })
    expectTypeOf(alone).toEqualTypeOf<
      (req: Request, res: Response, next: NextFunction) => Promise<number | undefined>
    >()
  })

  test('L15: with onStoreFailure: open there may be no lease', () => {
    forExpress.withLock(
      'k',
      (req) => {
        expectTypeOf(req.lease).toEqualTypeOf<Lease | undefined>()
      },
      { onStoreFailure: 'open' },
    )
  })

  test('L15: @Locked decorates methods that take a request and a response', () => {
    class Orders {
      @forExpress.Locked((req) => `order:${req.params['id']}`, { waitMs: 2000 })
      async pay(req: Request<{ id: string }>, _res: Response) {
        expectTypeOf(req.lease).toEqualTypeOf<Lease | undefined>()
        expectTypeOf(req.params).toEqualTypeOf<{ id: string }>()
      }

      @forExpress.Locked('orders')
      list(_req: Request, _res: Response, _next?: NextFunction): void {}

      // @ts-expect-error a method under a lock gives a promise, not a number
      @forExpress.Locked('orders')
      count(_req: Request): number {
        return 1
      }

      // @ts-expect-error what it is called with is no request
      @forExpress.Locked('orders')
      async total(_amount: number) {}
    }
    expectTypeOf<Orders['pay']>().returns.toEqualTypeOf<Promise<void>>()
    const orders = new Orders()
    const route = () => express.post('/orders/:id/pay', (req, res) => orders.pay(req, res))
    expectTypeOf(route).returns.toEqualTypeOf<Express>()
  })

  test('L15: options are those of guards', () => {
    expectTypeOf<keyof forExpress.LockOptions>().toEqualTypeOf<
      | 'leaseMs'
      | 'waitMs'
      | 'maxHoldMs'
      | 'renew'
      | 'metadata'
      | 'store'
      | 'timeoutMs'
      | 'onStoreFailure'
      | 'status'
    >()
  })
})

describe('in Koa', () => {
  test('L15: lock() is a middleware, and leaves a typed lease in the state', () => {
    expectTypeOf(forKoa.lock('k')).toEqualTypeOf<Middleware>()
    expectTypeOf<Context['state']['lease']>().toEqualTypeOf<Lease | undefined>()
    type Key = forKoa.LockKey
    expectTypeOf<Extract<Key, (...call: never) => unknown>>().parameters.toEqualTypeOf<[Context]>()
  })

  test('L15, L16: withLock() is a middleware whose handler surely has a lease', () => {
    koa.use(
      forKoa.withLock(
        (ctx) => `account:${ctx.get('X-Account')}`,
        async (ctx, next) => {
          expectTypeOf(ctx.state.lease).toEqualTypeOf<Lease>()
          expectTypeOf(ctx.status).toEqualTypeOf<number>()
          expectTypeOf(next).toEqualTypeOf<Next>()
        },
        { waitMs: 2000, metadata: (ctx) => ctx.path },
      ),
    )
    const alone = forKoa.withLock('k', async (ctx) => ctx.path)
    expectTypeOf(alone).toEqualTypeOf<(ctx: Context, next: Next) => Promise<string | undefined>>()
  })

  test('L15: withLock() keeps what routers add to a context', () => {
    type RouterContext = Context & { params: { id: string } }
    const routed = forKoa.withLock(
      (ctx: RouterContext) => `order:${ctx.params.id}`,
      async (ctx) => {
        expectTypeOf(ctx.params.id).toEqualTypeOf<string>()
        expectTypeOf(ctx.state.lease.fence).toEqualTypeOf<number>()
      },
    )
    expectTypeOf(routed).parameter(0).toEqualTypeOf<RouterContext>()
  })

  test('L15: with onStoreFailure: open there may be no lease', () => {
    forKoa.withLock(
      'k',
      (ctx) => {
        expectTypeOf(ctx.state.lease).toEqualTypeOf<Lease | undefined>()
      },
      { onStoreFailure: 'open' },
    )
  })

  test('L15: @Locked decorates methods that take a context', () => {
    class Accounts {
      @forKoa.Locked((ctx) => `account:${ctx.get('X-Account')}`)
      async close(ctx: Context, _next?: Next) {
        expectTypeOf(ctx.state.lease).toEqualTypeOf<Lease | undefined>()
      }

      // @ts-expect-error what it is called with is no context
      @forKoa.Locked('accounts')
      async total(_amount: number) {}
    }
    expectTypeOf<Accounts['close']>().returns.toEqualTypeOf<Promise<void>>()
    const accounts = new Accounts()
    koa.use((ctx, next) => accounts.close(ctx, next))
  })
})
