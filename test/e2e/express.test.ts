import {
  type Decision,
  fixedWindow,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
} from '@sluice/express'
import express5, { type NextFunction, type Request, type Response } from 'express'
import express4 from 'express4'
import { describe, expect, it } from 'vitest'
import { Site } from '../support/http.ts'

const one = fixedWindow({ name: 'one', limit: 1, windowMs: 60_000 })

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('in %s', (_name, express) => {
  it('R24: callbacks receive the request and the response, onLimited the decision last', async () => {
    const calls: [string, ...unknown[]][] = []
    const note =
      <T>(name: string, answer: T) =>
      (req: Request, res: Response, ...rest: unknown[]): T => {
        calls.push([name, req.res === res, ...rest])
        return answer
      }
    const options: RateLimitOptions = {
      skip: note('skip', false),
      policy: note('policy', one),
      key: note('key', 'ann'),
      cost: note('cost', 1),
      refund: note('refund', false),
      onLimited: (req, res, decision: Decision) => {
        note('onLimited', undefined)(req, res, decision.policy)
        res.send('later')
      },
    }
    const app = express()
    app.use(rateLimit(options))
    app.get('/', (req, res) => res.send(`left: ${req.rateLimit?.remaining}`))
    await using site = await Site.serve(app)
    expect((await site.ask()).body).toBe('left: 0')
    expect(await site.ask()).toMatchObject({ status: 429, body: 'later' })
    const asked = ['skip', 'policy', 'key', 'cost'].map((name) => [name, true])
    expect(calls).toEqual([...asked, ['refund', true], ...asked, ['onLimited', true, 'one']])
  })

  it('a limit stands before a route, a router or a mounted application, and only there', async () => {
    const store = memoryStore()
    const app = express()
    const router = express.Router()
    const mounted = express()
    router.use(rateLimit({ name: 'router', policy: one, store }))
    router.get('/', (_req, res) => res.send('router'))
    mounted.use(rateLimit({ name: 'mounted', policy: one, store }))
    mounted.get('/', (_req, res) => res.send('mounted'))
    app.use('/router', router)
    app.use('/mounted', mounted)
    app.get('/route', rateLimit({ name: 'route', policy: one, store }), (_req, res) => {
      res.send('route')
    })
    app.get('/free', (_req, res) => res.send('free'))
    await using site = await Site.serve(app)
    for (const path of ['/router', '/mounted', '/route']) {
      expect((await site.ask(path)).body).toBe(path.slice(1))
      expect((await site.ask(path)).status).toBe(429)
    }
    expect((await site.ask('/free')).headers).not.toHaveProperty('ratelimit')
  })

  it('a mounted application trusts the proxies that its parent trusts', async () => {
    const mounted = express()
    mounted.use(rateLimit({ policy: one }))
    mounted.get('/', (req, res) => res.send(req.ip))
    const app = express()
    app.set('trust proxy', 1)
    app.use('/mounted', mounted)
    await using site = await Site.serve(app)
    const from = (address: string) =>
      site.ask('/mounted', { headers: { 'X-Forwarded-For': address } })
    expect((await from('198.51.100.1')).body).toBe('198.51.100.1')
    expect((await from('198.51.100.2')).status).toBe(200)
    expect((await from('198.51.100.1')).status).toBe(429)
  })

  it('R23: a trust function that knows only the hops of its own site does no harm', async () => {
    const sites = ['127.0.0.1', '198.51.100.1']
    const app = express()
    app.set('trust proxy', (ip: string, hop: number) => {
      if (hop >= sites.length) throw new RangeError(`no hop ${hop}`)
      return sites[hop] === ip
    })
    app.use(rateLimit({ policy: one }))
    app.get('/', (_req, res) => res.send('welcome'))
    await using site = await Site.serve(app)
    expect((await site.ask('/', { headers: { 'X-Forwarded-For': '203.0.113.1' } })).status).toBe(
      200,
    )
  })

  it('errors of callbacks reach the application’s error handler, whichever callback', async () => {
    const app = express()
    const broken = new Error('broken')
    const fail = () => {
      throw broken
    }
    app.use('/key', rateLimit({ key: fail }))
    app.use(
      '/answer',
      rateLimit({ policy: fixedWindow({ limit: 0, windowMs: 1 }), onLimited: fail }),
    )
    app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
      res.status(418).send(error === broken ? 'handled' : 'what?')
    })
    await using site = await Site.serve(app)
    expect(await site.ask('/key')).toMatchObject({ status: 418, body: 'handled' })
    expect(await site.ask('/answer')).toMatchObject({ status: 418, body: 'handled' })
  })
  it.each([
    ['let pass', 1],
    ['refused', 0],
  ])(
    'R24: a request that was answered while its decision was awaited, and is then %s, makes no error',
    async (_, limit) => {
      const errors: unknown[] = []
      const app = express()
      const key = (_req: Request, res: Response) => {
        res.status(503).end('too slow')
        return 'ann'
      }
      app.use(rateLimit({ policy: fixedWindow({ limit, windowMs: 60_000 }), key }))
      app.use((_req, _res) => {})
      app.use((error: unknown, _req: Request, _res: Response, next: NextFunction) => {
        errors.push(error)
        next(error)
      })
      await using site = await Site.serve(app)
      expect(await site.ask()).toMatchObject({ status: 503, body: 'too slow' })
      expect(errors).toEqual([])
    },
  )
})
