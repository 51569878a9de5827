import { type Decision, fixedWindow, type RateLimitOptions, rateLimit } from '@sluice/koa'
import Koa3, { type Context } from 'koa'
import Koa2 from 'koa2'
import { describe, expect, it } from 'vitest'
import { Site } from '../support/http.ts'

const one = fixedWindow({ name: 'one', limit: 1, windowMs: 60_000 })

describe.each([
  ['Koa 2', Koa2],
  ['Koa 3', Koa3],
])('in %s', (_name, Koa) => {
  it('R24: callbacks receive the context, onLimited the decision last', async () => {
    const calls: [string, ...unknown[]][] = []
    const note =
      <T>(name: string, answer: T) =>
      (ctx: Context, ...rest: unknown[]): T => {
        calls.push([name, ctx.app === app, ...rest])
        return answer
      }
    const options: RateLimitOptions = {
      skip: note('skip', false),
      policy: note('policy', one),
      key: note('key', 'ann'),
      cost: note('cost', 1),
      refund: note('refund', false),
      onLimited: (ctx, decision: Decision) => {
        note('onLimited', undefined)(ctx, decision.policy)
        ctx.body = 'later'
      },
    }
    const app = new Koa()
    app.use(rateLimit(options))
    app.use((ctx) => {
      ctx.body = `left: ${ctx.state.rateLimit?.remaining}`
    })
    await using site = await Site.serve(app)
    expect((await site.ask()).body).toBe('left: 0')
    expect(await site.ask()).toMatchObject({ status: 429, body: 'later' })
    const asked = ['skip', 'policy', 'key', 'cost'].map((name) => [name, true])
    expect(calls).toEqual([...asked, ['refund', true], ...asked, ['onLimited', true, 'one']])
  })

  it('middleware above sees the refusal, and may change it', async () => {
    const app = new Koa()
    app.use(async (ctx, next) => {
      await next()
      if (ctx.status === 429) ctx.body = { sorry: ctx.state.rateLimit?.policy }
    })
    app.use(rateLimit({ policy: fixedWindow({ name: 'none', limit: 0, windowMs: 1000 }) }))
    await using site = await Site.serve(app)
    expect(await site.ask()).toMatchObject({ status: 429, body: '{"sorry":"none"}' })
  })

  it('one error thrown for many requests brings to none of them the fields of another', async () => {
    const app = new Koa()
    app.silent = true
    const always = Object.assign(new Error('always'), { status: 404, headers: { 'X-Own': 'own' } })
    app.use(async (ctx, next) => {
      if (ctx.path === '/free') throw always
      await next()
    })
    app.use(rateLimit({ name: 'a', policy: fixedWindow({ name: 'a', limit: 9, windowMs: 1000 }) }))
    app.use(rateLimit({ name: 'b', policy: fixedWindow({ name: 'b', limit: 9, windowMs: 1000 }) }))
    app.use(() => {
      throw always
    })
    await using site = await Site.serve(app)
    for (const rest of ['8', '7']) {
      const { status, headers } = await site.ask()
      expect(status).toBe(404)
      expect(headers['x-own']).toBe('own')
      expect(headers['ratelimit']).toBe(`"a";r=${rest};t=1, "b";r=${rest};t=1`)
    }
    const { headers } = await site.ask('/free')
    expect(headers['x-own']).toBe('own')
    expect(headers).not.toHaveProperty('ratelimit')
    expect(always.headers).toEqual({ 'X-Own': 'own' })
  })

  it.each([
    ['let pass', 1],
    ['refused', 0],
  ])(
    'R24: a request that was answered while its decision was awaited, and is then %s, makes no error',
    async (_, limit) => {
      const errors: unknown[] = []
      const app = new Koa()
      app.on('error', (error) => errors.push(error))
      const key = (ctx: Context) => {
        ctx.res.statusCode = 503
        ctx.res.end('too slow')
        return 'ann'
      }
      app.use(rateLimit({ policy: fixedWindow({ limit, windowMs: 60_000 }), key }))
      await using site = await Site.serve(app)
      expect(await site.ask()).toMatchObject({ status: 503, body: 'too slow' })
      expect(errors).toEqual([])
    },
  )

  it.each([
    ['from its class', () => new Unauthorized('who?')],
    ['for good', () => Object.defineProperty(unauthorized(), 'headers', { value: challenge })],
    ['and is sealed', () => Object.seal(Object.assign(unauthorized(), { headers: challenge }))],
  ])(
    'R28: an error that has its headers %s is answered with them and with the fields',
    async (_, make) => {
      const app = new Koa()
      app.silent = true
      app.use(rateLimit({ policy: one }))
      app.use(() => {
        throw make()
      })
      await using site = await Site.serve(app)
      const { status, headers } = await site.ask()
      expect(status).toBe(401)
      expect(headers['www-authenticate']).toBe('Basic')
      expect(headers['ratelimit']).toBe('"one";r=0;t=60')
    },
  )
})

const challenge = { 'WWW-Authenticate': 'Basic' }

class Unauthorized extends Error {
  readonly status = 401
  get headers() {
    return challenge
  }
}

function unauthorized(): Error {
  return Object.assign(new Error('who?'), { status: 401 })
}
