import {
  createRateLimiter,
  fixedWindow,
  type RateLimitEvent,
  type Store,
  slidingLog,
  subscribe,
  tokenBucket,
} from '@sluice/express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Exchange, Options, TestApp } from './frameworks.ts'
import { matrix, type OpenStore } from './matrix.ts'
import { type Ask, bodies, key, list, problem, replies } from './replies.ts'

const one = fixedWindow({ name: 'one', limit: 1, windowMs: 60_000 })
const two = fixedWindow({ name: 'two', limit: 2, windowMs: 60_000 })
const hundred = slidingLog({ name: 'hundred', limit: 100, windowMs: 3_600_000 })

describe.each(matrix)('rateLimit() in %s', (_name, framework, backend) => {
  let open: OpenStore
  let store: Store
  let app: TestApp

  beforeEach(() => {
    open = backend.open()
    store = open.store
    app = framework.app()
  })

  afterEach(async () => {
    await open[Symbol.asyncDispose]()
  })

  /** Serves what was added to the application, with a handler at the end, for one test. */
  async function serving(use: (ask: Ask) => Promise<void>): Promise<void> {
    app.answer(() => 'welcome')
    await using site = await app.serve()
    await use((...args) => site.ask(...args))
  }

  it('R1, R22: lets a quota pass and refuses the rest with a problem document', () =>
    limited({ policy: two }, async (ask) => {
      expect(await bodies(3, ask)).toEqual(['welcome', 'welcome', problem('two')])
      const refused = await ask()
      expect(refused.status).toBe(429)
      expect(refused.headers['content-type']).toBe('application/problem+json')
      expect(refused.headers['content-length']).toBe(String(problem('two').length))
    }))

  it('R3: sends no Retry-After for a cost that can never fit, and charges nothing', () =>
    limited({ policy: two, cost: costOf }, async (ask) => {
      const refused = await ask('/', { headers: { cost: '3' } })
      expect(refused.status).toBe(429)
      expect(refused.headers).not.toHaveProperty('retry-after')
      expect((await ask('/', { headers: { cost: '2' } })).status).toBe(200)
    }))

  it('R22: lets the application answer in its own way, with fields and status already set', () => {
    const onLimited = async (exchange: Exchange, decision: { policy: string }) => {
      exchange.send(exchange.status, `not so fast: ${decision.policy}`)
    }
    return limited({ policy: one, onLimited }, async (ask) => {
      const [, refused] = await replies(2, ask)
      expect(refused).toMatchObject({ status: 429, body: 'not so fast: one' })
      expect(refused?.headers['retry-after']).toMatch(/^(59|60)$/)
      expect(list(refused, 'ratelimit').map(([name]) => name)).toEqual(['one'])
    })
  })

  it('R22: an error in onLimited is the application’s, so the answer is not 429', () => {
    const onLimited = () => Promise.reject(new Error('broken'))
    return limited({ policy: one, onLimited }, async (ask) => {
      const [, refused] = await replies(2, ask)
      expect(refused?.status).toBe(500)
      expect(app.errors).toHaveLength(1)
    })
  })

  it('leaves the decision where handlers find it, the last one of several', async () => {
    app.limit({ name: 'site', policy: hundred, store, key })
    app.limit({ name: 'route', policy: two, store, key })
    const seen: unknown[] = []
    app.before(({ decision }) => void seen.push(decision))
    await serving(async (ask) => {
      await ask()
    })
    expect(seen).toMatchObject([{ allowed: true, policy: 'two', limit: 2, remaining: 1 }])
  })

  it('R27: in a trial nothing is refused, and what would have been is told', async () => {
    const events: RateLimitEvent[] = []
    const stop = subscribe('sluice:rate-limit', (event) => {
      if (event.type === 'decision') events.push(event)
    })
    const seen: unknown[] = []
    const onLimited = () => expect.unreachable('asked to answer')
    app.limit({ policy: one, store, key, enforce: false, onLimited })
    app.before(({ decision }) => void seen.push(decision?.allowed))
    await serving(async (ask) => {
      expect(await bodies(3, ask)).toEqual(['welcome', 'welcome', 'welcome'])
      expect(list(await ask(), 'ratelimit')[0]?.[1].get('r')).toBe(0)
    })
    stop()
    expect(seen).toEqual([true, false, false, false])
    expect(events.map((event) => event.decision.allowed)).toEqual([true, false, false, false])
    expect(events.every((event) => !event.enforced && event.limiter === 'default')).toBe(true)
  })

  it('R11: limits of one name on one store share a quota, whatever the route', async () => {
    app.limit({
      name: 'shared',
      policy: tokenBucket({ capacity: 3, refill: 1, refillMs: 3_600_000 }),
      store,
      key,
    })
    const elsewhere = createRateLimiter({
      name: 'shared',
      policy: tokenBucket({ capacity: 3, refill: 1, refillMs: 3_600_000 }),
      store,
    })
    await serving(async (ask) => {
      await ask()
      expect((await elsewhere.consume('caller', { cost: 2 })).allowed).toBe(true)
      expect((await ask()).status).toBe(429)
    })
  })

  /** One limit, one key, a handler. */
  function limited(options: Options, use: (ask: Ask) => Promise<void>): Promise<void> {
    app.limit({ store, key, ...options })
    return serving(use)
  }
})

const costOf = ({ headers }: Exchange) => Number(headers['cost'])
