import {
  type AnySluiceError,
  type Begun,
  createIdempotency,
  type Execution,
  type Idempotency,
  type IdempotencyRecord,
  type RequestIdempotency,
  type StoredResponse,
} from '@sluice/core'
import * as forExpress from '@sluice/express'
import * as forKoa from '@sluice/koa'
import type { Express, Request, RequestHandler, Response } from 'express'
import type { Context, DefaultState, Middleware } from 'koa'
import { describe, expectTypeOf, test } from 'vitest'

type ExpressOptions = forExpress.IdempotencyMiddlewareOptions
type KoaOptions = forKoa.IdempotencyMiddlewareOptions
type Given<T, Name extends keyof T> = Extract<NonNullable<T[Name]>, (...call: never) => unknown>

describe('middleware', () => {
  test('I22: Express callbacks receive (req, res), and Koa callbacks (ctx)', () => {
    type Both = [Request, Response]
    expectTypeOf<Given<ExpressOptions, 'scope'>>().parameters.toEqualTypeOf<Both>()
    expectTypeOf<Given<ExpressOptions, 'fingerprint'>>().parameters.toEqualTypeOf<Both>()
    expectTypeOf<Given<ExpressOptions, 'authorizeReplay'>>().parameters.toEqualTypeOf<Both>()
    expectTypeOf<Given<KoaOptions, 'scope'>>().parameters.toEqualTypeOf<[Context]>()
    expectTypeOf<Given<KoaOptions, 'fingerprint'>>().parameters.toEqualTypeOf<[Context]>()
    expectTypeOf<Given<KoaOptions, 'authorizeReplay'>>().parameters.toEqualTypeOf<[Context]>()
  })

  test('I3, I4, I21: callbacks may be sync or async, and give what can be used', () => {
    expectTypeOf<(req: Request) => string>().toExtend<ExpressOptions['scope']>()
    expectTypeOf<(req: Request) => Promise<string>>().toExtend<ExpressOptions['scope']>()
    expectTypeOf<(req: Request) => string | undefined>().not.toExtend<ExpressOptions['scope']>()
    expectTypeOf<() => Uint8Array>().toExtend<ExpressOptions['fingerprint']>()
    expectTypeOf<() => number>().not.toExtend<ExpressOptions['fingerprint']>()
    expectTypeOf<() => Promise<boolean>>().toExtend<KoaOptions['authorizeReplay']>()
  })

  test('I11, I15: options are literals', () => {
    expectTypeOf<ExpressOptions['onUnknown']>().toEqualTypeOf<'hold' | 'rerun' | undefined>()
    expectTypeOf<ExpressOptions['onServerError']>().toEqualTypeOf<
      'replay' | 'release' | undefined
    >()
    expectTypeOf<ExpressOptions['onStoreFailure']>().toEqualTypeOf<'closed' | 'open' | undefined>()
    expectTypeOf<{ waitMs: 1 }>().toExtend<ExpressOptions['onConcurrent']>()
    expectTypeOf<{ waitMs: '1' }>().not.toExtend<ExpressOptions['onConcurrent']>()
    expectTypeOf<'wait'>().not.toExtend<ExpressOptions['onConcurrent']>()
  })

  test('leaves the parameters that a route of Express names their types', () => {
    const route = (express: Express) =>
      express.post('/users/:id', forExpress.idempotency(), (req) => {
        expectTypeOf(req.params.id).toEqualTypeOf<string>()
        expectTypeOf(req.idempotency).toEqualTypeOf<RequestIdempotency | undefined>()
      })
    expectTypeOf(route).returns.toEqualTypeOf<Express>()
  })

  test('is what the framework takes, and puts a typed handle where handlers find it', () => {
    expectTypeOf(forExpress.idempotency()).toExtend<RequestHandler>()
    expectTypeOf(forKoa.idempotency()).toEqualTypeOf<Middleware>()
    expectTypeOf<DefaultState['idempotency']>().toEqualTypeOf<RequestIdempotency | undefined>()
    expectTypeOf<RequestIdempotency['signal']>().toEqualTypeOf<AbortSignal>()
    expectTypeOf<RequestIdempotency['release']>().returns.resolves.toBeVoid()
  })

  test('gives the whole core with one import', () => {
    expectTypeOf(forExpress.createIdempotency).toEqualTypeOf(createIdempotency)
    expectTypeOf(forKoa.createIdempotency).toEqualTypeOf(createIdempotency)
  })
})

describe('outside of HTTP', () => {
  test('only what has started can be executed', () => {
    expectTypeOf<Idempotency['begin']>().returns.resolves.toEqualTypeOf<Begun>()
    expectTypeOf<Extract<Begun, { state: 'started' }>['execution']>().toEqualTypeOf<Execution>()
    expectTypeOf<Exclude<Begun, { state: 'started' }>>().not.toHaveProperty('execution')
    expectTypeOf<Extract<Begun, { state: 'replay' }>['response']>().toEqualTypeOf<StoredResponse>()
    expectTypeOf<Extract<Begun, { state: 'unknown' }>['since']>().toEqualTypeOf<Date>()
  })

  test('a response is what can be stored, written with literals', () => {
    const response = { status: 201, headers: [['Location', '/7']], body: 'made' } as const
    expectTypeOf(response).toExtend<StoredResponse>()
    expectTypeOf<{ status: 201; headers: []; body: Uint8Array }>().toExtend<StoredResponse>()
    expectTypeOf<{ status: 201; headers: []; body: object }>().not.toExtend<StoredResponse>()
    expectTypeOf<{ status: 201; headers: { a: 'b' }; body: '' }>().not.toExtend<StoredResponse>()
    expectTypeOf<Execution['complete']>().parameter(0).toEqualTypeOf<StoredResponse>()
    expectTypeOf<Execution['complete']>().returns.resolves.toEqualTypeOf<'settled' | 'refused'>()
  })

  test('I11: operators iterate over records, and learn whether they settled one', () => {
    expectTypeOf<Idempotency['unknown']>().returns.toExtend<AsyncIterable<IdempotencyRecord>>()
    expectTypeOf<Idempotency['confirm']>().returns.resolves.toBeBoolean()
    expectTypeOf<Idempotency['release']>().returns.resolves.toBeBoolean()
    expectTypeOf<IdempotencyRecord>().toEqualTypeOf<Readonly<IdempotencyRecord>>()
  })

  test('its errors narrow by their literal code', () => {
    expectTypeOf<Extract<AnySluiceError, { code: 'lease-lost' }>>().toHaveProperty('reason')
    expectTypeOf<
      Extract<AnySluiceError, { code: 'idempotency-body-not-captured' }>
    >().toHaveProperty('contentType')
    expectTypeOf<Extract<AnySluiceError, { code: 'release-too-late' }>>().not.toBeNever()
  })
})
