import {
  createRateLimiter,
  fixedWindow,
  type RateLimitEvent,
  rateLimitFieldNames,
  type Store,
  slidingLog,
  subscribe,
  tokenBucket,
} from '@sluice/express'
import { parseList } from 'structured-headers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Reply } from '../support/http.ts'
import type { Exchange, Options, TestApp } from './frameworks.ts'
import { matrix, type OpenStore } from './matrix.ts'

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

  it('R20: tells quota and rest in fields that parse strictly', () =>
    limited({ policy: two }, async (ask) => {
      const rests: unknown[] = []
      for (const reply of await replies(3, ask)) {
        const [[name, quota] = []] = list(reply, 'ratelimit-policy')
        expect(name).toBe('two')
        expect(quota?.get('q')).toBe(2)
        expect(quota?.get('w')).toBe(60)
        const [[, limit] = []] = list(reply, 'ratelimit')
        expect(limit?.get('t')).toBeGreaterThan(0)
        expect(limit?.get('t')).toBeLessThanOrEqual(Number(reply.headers['retry-after'] ?? 60))
        rests.push(limit?.get('r'))
      }
      expect(rests).toEqual([1, 0, 0])
    }))

  it('R2, R20: decides several policies at once and tells of all of them', () =>
    limited({ policy: [one, hundred] }, async (ask) => {
      const [, ...refused] = await replies(4, ask)
      for (const reply of refused) {
        expect(reply.body).toBe(problem('one'))
        expect(list(reply, 'ratelimit').map(([name, limit]) => [name, limit.get('r')])).toEqual([
          ['one', 0],
          ['hundred', 99],
        ])
      }
    }))

  it('R4: sends Retry-After with refusals only, in whole seconds', () =>
    limited({ policy: two }, async (ask) => {
      const [first, second, third] = await replies(3, ask)
      expect(first?.headers).not.toHaveProperty('retry-after')
      expect(second?.headers).not.toHaveProperty('retry-after')
      expect(third?.headers['retry-after']).toMatch(/^(59|60)$/)
    }))

  it('R3: sends no Retry-After for a cost that can never fit, and charges nothing', () =>
    limited({ policy: two, cost: costOf }, async (ask) => {
      const refused = await ask('/', { headers: { cost: '3' } })
      expect(refused.status).toBe(429)
      expect(refused.headers).not.toHaveProperty('retry-after')
      expect((await ask('/', { headers: { cost: '2' } })).status).toBe(200)
    }))

  it('R21: appends the fields of several limits on one request', async () => {
    app.limit({ name: 'site', policy: hundred, store, key })
    app.limit({ name: 'route', policy: two, store, key })
    await serving(async (ask) => {
      const reply = await ask()
      expect(list(reply, 'ratelimit-policy').map(([name]) => name)).toEqual(['hundred', 'two'])
      expect(list(reply, 'ratelimit').map(([name]) => name)).toEqual(['hundred', 'two'])
    })
  })

  it.each([
    ['7200', '7200'],
    ['1', '60'],
  ])(
    'R21: of its own Retry-After and an earlier one of %s s the larger stays',
    async (earlier, expected) => {
      app.before((exchange) => exchange.set('Retry-After', earlier))
      app.limit({ policy: one, store, key })
      await serving(async (ask) => {
        const [, refused] = await replies(2, ask)
        expect(Math.ceil(Number(refused?.headers['retry-after']) / 10) * 10).toBe(
          Math.ceil(Number(expected) / 10) * 10,
        )
      })
    },
  )

  it('R21: a trial and a limit on one request leave the longer of their waits', async () => {
    const slow = fixedWindow({ name: 'slow', limit: 1, windowMs: 7_200_000 })
    app.limit({ name: 'trial', policy: slow, store, key, enforce: false })
    app.limit({ name: 'limit', policy: one, store, key })
    await serving(async (ask) => {
      const [, refused] = await replies(2, ask)
      expect(refused?.body).toBe(problem('one'))
      expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(7000)
    })
  })

  it('R22: answers HEAD as it answers GET, without the body', () =>
    limited({ policy: one }, async (ask) => {
      const [, got] = await replies(2, ask)
      const head = await ask('/', { method: 'HEAD' })
      expect(head.body).toBe('')
      expect(head.status).toBe(429)
      expect(fieldNames(head)).toEqual(fieldNames(got))
      expect(head.headers['content-length']).toBe(got?.headers['content-length'])
      expect(head.headers['content-type']).toBe(got?.headers['content-type'])
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

  it('R20: an error answered by the framework keeps the fields', async () => {
    app.limit({ policy: two, store, key })
    app.before(() => {
      throw new Error('broken')
    })
    await serving(async (ask) => {
      const reply = await ask()
      expect(reply.status).toBe(500)
      expect(list(reply, 'ratelimit').map(([name]) => name)).toEqual(['two'])
      expect(list(reply, 'ratelimit-policy').map(([name]) => name)).toEqual(['two'])
    })
  })

  it('R22: sends no field that rateLimitFieldNames would not expose to browsers', () =>
    limited({ policy: one, headers: ['draft-11', 'legacy'] }, async (ask) => {
      const [, refused] = await replies(2, ask)
      const ours = fieldNames(refused).filter((name) => /rate|retry/i.test(name))
      expect(ours.sort()).toEqual([...rateLimitFieldNames].sort())
    }))

  it('sends the legacy fields instead, or none', async () => {
    app.limit({ name: 'silent', policy: hundred, store, key, headers: false })
    app.limit({ name: 'old', policy: one, store, key, headers: 'legacy-seconds-left' })
    await serving(async (ask) => {
      const [passed, refused] = await replies(2, ask)
      expect(passed?.headers).not.toHaveProperty('ratelimit')
      expect(passed?.headers['x-ratelimit-limit']).toBe('1')
      expect(passed?.headers['x-ratelimit-remaining']).toBe('0')
      expect(Number(passed?.headers['x-ratelimit-reset'])).toBeLessThanOrEqual(60)
      expect(refused?.headers).toHaveProperty('retry-after')
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

type Ask = (
  path?: string,
  options?: { method?: string; headers?: Record<string, string> },
) => Promise<Reply>

const key = () => 'caller'

const costOf = ({ headers }: Exchange) => Number(headers['cost'])

async function replies(count: number, ask: Ask): Promise<Reply[]> {
  const all: Reply[] = []
  while (all.length < count) all.push(await ask())
  return all
}

async function bodies(count: number, ask: Ask): Promise<string[]> {
  return (await replies(count, ask)).map((reply) => reply.body)
}

function list(reply: Reply | undefined, field: string) {
  return parseList(String(reply?.headers[field]))
}

function fieldNames(reply: Reply | undefined): string[] {
  return reply?.rawHeaders.filter((_, index) => index % 2 === 0) ?? []
}

function problem(...violated: string[]): string {
  return JSON.stringify({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    'violated-policies': violated,
  })
}
