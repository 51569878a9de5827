import * as express from '@sluice/express'
import * as koa from '@sluice/koa'
import express5 from 'express'
import express4 from 'express4'
import { Redis } from 'ioredis'
import Koa3 from 'koa'
import bodyParser from 'koa-bodyparser'
import Koa2 from 'koa2'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { type App, Site } from '../support/http.ts'
import { post } from './idempotency/client.ts'

/** What both adapters take. */
interface Options {
  readonly policy?: express.Policy
  readonly store: express.Store
  readonly timeoutMs?: number
  readonly onStoreFailure?: 'closed'
}

interface Scene {
  readonly options: Options
  /** An answer of the application's own to whoever is over the limit. */
  readonly status?: number
}

const frameworks = [
  ['Express 5', ({ options, status }: Scene) => expressApp(express5(), options, status)],
  ['Express 4', ({ options, status }: Scene) => expressApp(express4(), options, status)],
  ['Koa 3', ({ options, status }: Scene) => koaApp(new Koa3(), options, status)],
  ['Koa 2', ({ options, status }: Scene) => koaApp(new Koa2(), options, status)],
] as const

function expressApp(app: ReturnType<typeof express5>, options: Options, status?: number): App {
  app.use(express5.json(), express.idempotency({ store: express.memoryStore() }))
  const onLimited: express.RateLimitOptions['onLimited'] = (_req, res) => {
    res.status(status ?? 0).send('later')
  }
  app.use(express.rateLimit({ ...options, ...(status && { onLimited }) }))
  app.use((_req, res) => void res.send('run'))
  return app
}

function koaApp(app: Koa3, options: Options, status?: number): App {
  app.use(bodyParser()).use(koa.idempotency({ store: koa.memoryStore() }))
  const onLimited: koa.RateLimitOptions['onLimited'] = (ctx) => {
    ctx.status = status ?? 0
    ctx.body = 'later'
  }
  app.use(koa.rateLimit({ ...options, ...(status && { onLimited }) }))
  app.use((ctx) => {
    ctx.body = 'run'
  })
  return app
}

describe.each(frameworks)('a limit behind idempotency(), %s', (_name, appOf) => {
  let redis: Redis

  beforeEach(async () => {
    redis = new Redis(await freePort())
    redis.on('error', () => {})
  })

  afterEach(() => {
    redis.disconnect()
  })

  it('I10, R30: a limit that cannot be decided leaves no result', async () => {
    const store = express.redisStore(redis)
    const options: Options = { store, timeoutMs: 50, onStoreFailure: 'closed' }
    await using site = await Site.serve(appOf({ options }))
    for (let n = 0; n < 2; n++) {
      const answer = await post(site, { key: 'a' })
      expect(answer.status).toBe(503)
      expect(answer.headers).not.toHaveProperty('idempotency-replayed')
    }
    await store.close()
  })

  it('I10: nor does a refusal, whatever the application answers', async () => {
    let nowMs = 0
    const store = express.memoryStore({ now: () => nowMs })
    const policy = express.fixedWindow({ limit: 1, windowMs: 1000 })
    await using site = await Site.serve(appOf({ options: { store, policy }, status: 503 }))
    await post(site, { key: 'a' })
    expect(await post(site, { key: 'b' })).toMatchObject({ status: 503, text: 'later' })
    nowMs += 1000
    expect(await post(site, { key: 'b' })).toMatchObject({ status: 200, text: 'run' })
  })
})
