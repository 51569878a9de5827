import {
  ConfigurationError,
  createRateLimiter,
  fixedWindow,
  type Policy,
  type RateLimiter,
  type Store,
  tokenBucket,
} from '@sluice/express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Reply, Site } from '../support/http.ts'
import type { Exchange, Options, TestApp } from './frameworks.ts'
import { matrix, type OpenStore } from './matrix.ts'

const ten = fixedWindow({ name: 'ten', limit: 10, windowMs: 60_000 })

describe.each(matrix)('callbacks of rateLimit() in %s', (_name, framework, backend) => {
  let open: OpenStore
  let store: Store
  let app: TestApp
  let spent: (key: string) => Promise<number>

  beforeEach(() => {
    open = backend.open()
    store = open.store
    app = framework.app()
    const limiter: RateLimiter = createRateLimiter({ name: 'quota', policy: ten, store })
    spent = async (key) => 10 - (await limiter.peek(key)).remaining
  })

  afterEach(async () => {
    await open[Symbol.asyncDispose]()
  })

  async function serving(options: Options, use: (site: Site) => Promise<void>): Promise<void> {
    app.limit({ name: 'quota', policy: ten, store, ...options })
    app.answer(() => 'welcome')
    await using site = await app.serve()
    await use(site)
  }

  it.each([
    ['at once', <T>(value: T): T => value],
    ['in a promise', async <T>(value: T): Promise<T> => value],
  ])('R24: skip, key, cost and policy may answer %s', (_how, answer) =>
    serving(
      {
        skip: ({ path }) => answer(path === '/health') as boolean,
        key: ({ headers }) => answer(String(headers['user'])) as string,
        cost: ({ method }) => answer(method === 'POST' ? 4 : 1) as number,
        policy: () => answer(ten) as Policy,
      },
      async (site) => {
        await site.ask('/', { headers: { user: 'ann' } })
        await site.ask('/', { method: 'POST', headers: { user: 'bob' } })
        const skipped = await site.ask('/health', { headers: { user: 'ann' } })
        expect(await spent('ann')).toBe(1)
        expect(await spent('bob')).toBe(4)
        expect(skipped.headers).not.toHaveProperty('ratelimit')
      },
    ),
  )

  it.each(['skip', 'key', 'cost', 'policy'] as const)(
    'R24: an error in %s, thrown or rejected, goes to the error handler and charges nothing',
    async (callback) => {
      const thrown = new Error('thrown')
      const rejected = new Error('rejected')
      const fail = ({ path }: Exchange) => {
        if (path === '/throw') throw thrown
        return Promise.reject(rejected)
      }
      await serving({ key: () => 'ann', [callback]: fail }, async (site) => {
        expect((await site.ask('/throw')).status).toBe(500)
        expect((await site.ask('/reject')).status).toBe(500)
      })
      expect(app.errors).toEqual([thrown, rejected])
      expect(await spent('ann')).toBe(0)
    },
  )

  it.each([undefined, null, '', 0, 'route', 'router'])(
    'R24: a request whose key throws %j does not get to its handler',
    (nothing) =>
      serving(
        {
          key: () => {
            throw nothing
          },
        },
        async (site) => {
          expect((await site.ask()).status).toBe(500)
          expect(app.errors).toHaveLength(1)
        },
      ),
  )

  it.each([
    ['key', undefined],
    ['key', ''],
    ['key', 7],
    ['cost', 0],
    ['cost', -1],
    ['cost', 1.5],
    ['cost', Number.NaN],
    ['cost', '2'],
    ['policy', undefined],
    ['policy', []],
    ['policy', { limit: 1 }],
  ])(
    'R3, R24: a %s of %j is an error of the application, and charges nothing',
    async (name, value) => {
      await serving({ key: () => 'ann', [name]: () => value }, async (site) => {
        expect((await site.ask()).status).toBe(500)
      })
      expect(app.errors).toEqual([expect.any(ConfigurationError)])
      expect(app.errors[0]).toMatchObject({ code: 'configuration', option: name })
      expect(await spent('ann')).toBe(0)
    },
  )

  it('R11: a policy that changes with the request keeps what was spent under its name', () => {
    const plan = ({ headers }: Exchange) =>
      fixedWindow({ name: 'ten', limit: Number(headers['limit']), windowMs: 60_000 })
    return serving({ key: () => 'ann', policy: plan }, async (site) => {
      const ask = (limit: string) => site.ask('/', { headers: { limit } })
      expect(rest(await ask('10'))).toBe('"ten";r=9')
      expect(rest(await ask('10'))).toBe('"ten";r=8')
      expect(rest(await ask('5'))).toBe('"ten";r=2')
      expect((await ask('3')).status).toBe(429)
      expect(await spent('ann')).toBe(3)
    })
  })

  it('R2: several policies may depend on the request too, each request with its own', () => {
    const burst = tokenBucket({ name: 'burst', capacity: 1, refill: 1, refillMs: 3_600_000 })
    const policy = ({ path }: Exchange) => (path === '/costly' ? [ten, burst] : [ten])
    return serving({ key: () => 'ann', policy }, async (site) => {
      expect((await site.ask('/costly')).status).toBe(200)
      expect((await site.ask('/costly')).status).toBe(429)
      expect((await site.ask('/cheap')).status).toBe(200)
      expect(await spent('ann')).toBe(2)
    })
  })

  it('takes a ready limiter', async () => {
    const limiter = createRateLimiter({ name: 'quota', policy: ten, store })
    app.limit({ limiter, key: () => 'ann' })
    app.answer(() => 'welcome')
    await using site = await app.serve()
    expect(rest(await site.ask())).toBe('"ten";r=9')
    expect(await spent('ann')).toBe(1)
  })
})

function rest(reply: Reply): string | undefined {
  return String(reply.headers['ratelimit']).split(';t=')[0]
}
