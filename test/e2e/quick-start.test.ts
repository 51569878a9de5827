import * as onExpress from '@sluice/express'
import * as onKoa from '@sluice/koa'
import express5 from 'express'
import express4 from 'express4'
import { Redis } from 'ioredis'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import request from 'supertest'
import { afterAll, describe, expect, inject, it } from 'vitest'

/** The lines of the README, word for word in each framework, asked as a user's own tests would ask them. */
describe.each([
  ['Express 4', expressApp(express4)],
  ['Express 5', expressApp(express5)],
  ['Koa 2', koaApp(Koa2)],
  ['Koa 3', koaApp(Koa3)],
])('%s', (name, serve) => {
  it('limits with no option at all: 100 a minute, in memory', async () => {
    const app = serve()
    const first = await request(app).get('/').expect(200)
    expect(first.headers['ratelimit-policy']).toBe('"sliding-window";q=100;w=60')
    expect(first.headers['ratelimit']).toBe('"sliding-window";r=99;t=120')
    await Promise.all(Array.from({ length: 99 }, () => request(app).get('/').expect(200)))
    const refused = await request(app).get('/').expect(429)
    expect(refused.headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(refused.text)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      'violated-policies': ['sliding-window'],
    })
  })

  it('R2: decides a burst and a daily policy on Redis in one step, so a refusal costs neither', async () => {
    const app = serve({
      name: `quick-start ${name} ${process.pid}`,
      store: onExpress.redisStore(redis),
      policy: [
        onExpress.tokenBucket({ name: 'burst', capacity: 3, refill: 1, refillMs: 60_000 }),
        onExpress.fixedWindow({ name: 'daily', limit: 10_000, windowMs: 86_400_000 }),
      ],
    })
    for (let n = 0; n < 3; n++) await request(app).get('/').expect(200)
    const refused = await request(app).get('/').expect(429)
    expect(refused.headers['ratelimit-policy']).toBe('"burst";q=3;w=180, "daily";q=10000;w=86400')
    expect(refused.headers['ratelimit']).toMatch(/^"burst";r=0;t=\d+, "daily";r=9997;t=\d+$/)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
  })
})

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())

type Options = Pick<onExpress.RateLimitOptions, 'name' | 'store'> & {
  readonly policy?: readonly onExpress.Policy[]
}

function expressApp(express: typeof express5) {
  return (options?: Options) => {
    const app = express()
    app.use(onExpress.rateLimit(options))
    app.get('/', (_req, res) => void res.send('hello'))
    return app
  }
}

function koaApp(Koa: typeof Koa3) {
  return (options?: Options) => {
    const app = new Koa()
    app.use(onKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = 'hello'
    })
    return app.callback()
  }
}
