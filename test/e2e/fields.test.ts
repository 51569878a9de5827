import { fixedWindow, rateLimitFieldNames, type Store, slidingLog } from '@sluice/express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Options, TestApp } from './frameworks.ts'
import { matrix, type OpenStore } from './matrix.ts'
import { type Ask, fieldNames, key, list, problem, replies } from './replies.ts'

const one = fixedWindow({ name: 'one', limit: 1, windowMs: 60_000 })
const two = fixedWindow({ name: 'two', limit: 2, windowMs: 60_000 })
const hundred = slidingLog({ name: 'hundred', limit: 100, windowMs: 3_600_000 })

describe.each(matrix)('the fields of rateLimit() in %s', (_name, framework, backend) => {
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

  /** One limit, one key, a handler. */
  function limited(options: Options, use: (ask: Ask) => Promise<void>): Promise<void> {
    app.limit({ store, key, ...options })
    return serving(use)
  }
})
