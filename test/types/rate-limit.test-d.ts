import {
  type AnySluiceError,
  createRateLimiter,
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  type RateLimiter,
  redisStore,
  slidingLog,
  tokenBucket,
} from '@sluice/core'
import * as forExpress from '@sluice/express'
import * as forKoa from '@sluice/koa'
import type { Express, Request, RequestHandler, Response } from 'express'
import type { Cluster, Redis } from 'ioredis'
import type { Context, Middleware } from 'koa'
import type { createClient, createCluster } from 'redis'
import { describe, expectTypeOf, test } from 'vitest'

type ExpressOptions = forExpress.RateLimitOptions
type KoaOptions = forKoa.RateLimitOptions
type Given<T, Name extends keyof T> = Extract<NonNullable<T[Name]>, (...call: never) => unknown>

describe('middleware', () => {
  test('R24: Express callbacks receive (req, res), and the decision last', () => {
    expectTypeOf<Given<ExpressOptions, 'key'>>().parameters.toEqualTypeOf<[Request, Response]>()
    expectTypeOf<Given<ExpressOptions, 'cost'>>().parameters.toEqualTypeOf<[Request, Response]>()
    expectTypeOf<Given<ExpressOptions, 'onLimited'>>().parameters.toEqualTypeOf<
      [Request, Response, Decision]
    >()
  })

  test('R24: Koa callbacks receive (ctx), and the decision last', () => {
    expectTypeOf<Given<KoaOptions, 'refund'>>().parameters.toEqualTypeOf<[Context]>()
    expectTypeOf<Given<KoaOptions, 'policy'>>().parameters.toEqualTypeOf<[Context]>()
    expectTypeOf<Given<KoaOptions, 'onLimited'>>().parameters.toEqualTypeOf<[Context, Decision]>()
  })

  test('R24: callbacks may be sync or async', () => {
    expectTypeOf<(req: Request) => string>().toExtend<ExpressOptions['key']>()
    expectTypeOf<(req: Request) => Promise<string>>().toExtend<ExpressOptions['key']>()
    expectTypeOf<(req: Request) => Promise<Policy[]>>().toExtend<ExpressOptions['policy']>()
    expectTypeOf<(req: Request) => number>().not.toExtend<ExpressOptions['key']>()
  })

  test('leaves the parameters that a route of Express names their types', () => {
    const route = (express: Express) =>
      express.get('/users/:id', forExpress.rateLimit(), (req) => {
        expectTypeOf(req.params.id).toEqualTypeOf<string>()
        expectTypeOf(req.rateLimit).toEqualTypeOf<Decision | undefined>()
      })
    expectTypeOf(route).returns.toEqualTypeOf<Express>()
  })

  test('is what the framework takes, and puts a typed decision on the request', () => {
    expectTypeOf(forExpress.rateLimit()).toExtend<RequestHandler>()
    expectTypeOf(forKoa.rateLimit()).toEqualTypeOf<Middleware>()
    expectTypeOf<Request['rateLimit']>().toEqualTypeOf<Decision | undefined>()
  })

  test('gives the whole core with one import', () => {
    expectTypeOf(forExpress.redisStore).toEqualTypeOf(redisStore)
    expectTypeOf(forKoa.createRateLimiter).toEqualTypeOf(createRateLimiter)
  })
})

describe('policies and limiters', () => {
  test('each algorithm knows its own options', () => {
    expectTypeOf(fixedWindow).parameter(0).toHaveProperty('windowMs')
    expectTypeOf(slidingLog).parameter(0).toHaveProperty('limit')
    expectTypeOf(tokenBucket).parameter(0).toHaveProperty('refillMs')
    expectTypeOf<{ limit: 1; windowMs: 1 }>().not.toExtend<Parameters<typeof tokenBucket>[0]>()
    expectTypeOf<{ limit: 1 }>().not.toExtend<Parameters<typeof fixedWindow>[0]>()
  })

  test('a decision is a readonly value', () => {
    expectTypeOf<RateLimiter['consume']>().returns.resolves.toEqualTypeOf<Decision>()
    expectTypeOf<Decision>().toEqualTypeOf<Readonly<Decision>>()
    expectTypeOf<Decision['source']>().toEqualTypeOf<
      'store' | 'cache' | 'local' | 'open' | 'closed'
    >()
  })

  test('stores take ioredis and node-redis clients as they are', () => {
    type Client = Parameters<typeof redisStore>[0]
    expectTypeOf<Redis>().toExtend<Client>()
    expectTypeOf<Cluster>().toExtend<Client>()
    expectTypeOf<ReturnType<typeof createClient>>().toExtend<Client>()
    expectTypeOf<ReturnType<typeof createCluster>>().toExtend<Client>()
    expectTypeOf<string>().not.toExtend<Client>()
    expectTypeOf(memoryStore()).toEqualTypeOf<ReturnType<typeof redisStore>>()
  })

  test('an error narrows by its literal code', () => {
    expectTypeOf<Extract<AnySluiceError, { code: 'configuration' }>>().toHaveProperty('option')
    expectTypeOf<Extract<AnySluiceError, { code: 'store-unavailable' }>>().toHaveProperty('reason')
    expectTypeOf<AnySluiceError['code']>().not.toEqualTypeOf<string>()
  })
})
