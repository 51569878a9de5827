import { fixedWindow, type OnStoreFailure, redisStore } from '@sluice/express'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import type { Reply } from '../support/http.ts'
import { frameworks } from './frameworks.ts'

const one = fixedWindow({ name: 'one', limit: 1, windowMs: 60_000 })

describe.each(frameworks)('R30: with no Redis to be reached, $name', (framework) => {
  let redis: Redis

  beforeEach(async () => {
    redis = new Redis(await freePort())
    redis.on('error', () => {})
  })

  afterEach(() => {
    redis.disconnect()
  })

  async function answers(
    onStoreFailure: OnStoreFailure,
    { enforce = true, refund = false } = {},
  ): Promise<Reply[]> {
    const app = framework.app()
    const store = redisStore(redis)
    app.limit({
      store,
      policy: one,
      key: () => 'ann',
      timeoutMs: 50,
      onStoreFailure,
      enforce,
      refund: () => refund,
      onLimited: (exchange) => exchange.send(exchange.status, 'not so fast'),
    })
    app.answer(() => 'welcome')
    await using site = await app.serve()
    const replies = [await site.ask(), await site.ask(), await site.ask('/', { method: 'HEAD' })]
    await store.close()
    expect(app.errors).toEqual([])
    return replies
  }

  it('answers 503 when closed: the failure is not the client’s', async () => {
    const [first, second, head] = await answers('closed')
    for (const reply of [first, second]) {
      expect(reply?.status).toBe(503)
      expect(reply?.headers['content-type']).toBe('application/problem+json')
      expect(reply?.headers['retry-after']).toBe('1')
      expect(reply?.headers['ratelimit-policy']).toBe('"one";q=1;w=60')
      expect(reply?.headers).not.toHaveProperty('ratelimit')
      expect(reply?.body).toBe(
        '{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",' +
          '"title":"Request cannot be satisfied due to temporary server capacity constraints",' +
          '"status":503}',
      )
    }
    expect(head).toMatchObject({ status: 503, body: '' })
    expect(head?.headers['content-length']).toBe(first?.headers['content-length'])
  })

  it('lets everything pass when open, and claims no remaining quota', async () => {
    for (const reply of await answers('open')) {
      expect(reply.status).toBe(200)
      expect(reply.headers['ratelimit-policy']).toBe('"one";q=1;w=60')
      expect(reply.headers).not.toHaveProperty('ratelimit')
    }
  })

  it('decides by itself when local', async () => {
    const [first, second] = await answers('local')
    expect(first?.status).toBe(200)
    expect(second).toMatchObject({ status: 429, body: 'not so fast' })
  })

  it('R25: gives a refund back in the process that spent it', async () => {
    for (const reply of await answers('local', { refund: true })) expect(reply.status).toBe(200)
  })

  it('R27: refuses nothing in a trial', async () => {
    for (const reply of await answers('closed', { enforce: false })) expect(reply.status).toBe(200)
  })
})
