import {
  type LockEvent,
  memoryStore,
  redisStore,
  StoreUnavailableError,
  subscribe,
} from '@sluice/express'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { frameworks, guards, type Options } from './lock/apps.ts'
import { Stage } from './lock/stage.ts'

const unavailable = JSON.stringify({
  type: 'urn:sluice:problem:store-unavailable',
  title: 'The lock cannot be taken at the moment',
  status: 503,
  detail: 'Nothing was run. Try again later.',
})

const matrix = frameworks.flatMap((framework) =>
  guards.map((guard) => [`${guard} in ${framework.name}`, guard, framework] as const),
)

describe.each(matrix)('with no Redis to be reached, %s', (_name, guard, framework) => {
  let redis: Redis

  beforeEach(async () => {
    redis = new Redis(await freePort())
    redis.on('error', () => {})
  })

  afterEach(() => {
    redis.disconnect()
  })

  async function serving(
    options: Options,
    run: (ask: Awaited<ReturnType<typeof framework.serve>>['site'], stage: Stage) => Promise<void>,
  ) {
    const store = redisStore(redis)
    const stage = new Stage()
    const handler = stage.handler
    const app = await framework.serve({
      routes: { '/': { guard, key: 'k', store, timeoutMs: 50, handler, ...options } },
    })
    await run(app.site, stage)
    await app[Symbol.asyncDispose]()
    await store.close()
    expect(app.errors).toEqual([])
  }

  it.each([0, 200])('L15, L11: answers 503, never 423, and runs nothing (waitMs: %i)', (waitMs) =>
    serving({ waitMs }, async (site, stage) => {
      const reply = await site.ask()
      expect(reply).toMatchObject({ status: 503, body: unavailable })
      expect(reply.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'content-length': String(unavailable.length),
        'retry-after': '1',
      })
      const head = await site.ask('/', { method: 'HEAD' })
      expect(head).toMatchObject({ status: 503, body: '' })
      expect(stage.begun).toBe(0)
    }),
  )

  it('L15: the status of refusals is not that of failures', () =>
    serving({ status: 409 }, async (site) => {
      expect((await site.ask()).status).toBe(503)
    }))

  it('L15: with open runs handlers without a lease, all at once, and an event says so', async () => {
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => events.push(event))
    await serving({ onStoreFailure: 'open' }, async (site, stage) => {
      const replies = [site.ask(), site.ask()]
      await stage.began(2)
      stage.go()
      for (const reply of await Promise.all(replies))
        expect(reply).toMatchObject({ status: 200, body: '{}' })
    })
    stop()
    const unprotected = events.filter((event) => event.type === 'unprotected')
    expect(unprotected).toHaveLength(2)
    expect(unprotected[0]?.error).toBeInstanceOf(StoreUnavailableError)
    expect(unprotected[0]?.keyHash).toMatch(/^[0-9a-f]{16}$/)
  })

  it('L15, L16: a handler without a lease does not see that of an outer guard: its fence is for another resource', async () => {
    const store = redisStore(redis)
    await using app = await framework.serve({
      routes: {
        '/': {
          guard: 'lock',
          key: 'outer',
          store: memoryStore(),
          handler: (_turn, next) => next(),
        },
        '/in': {
          guard,
          key: 'k',
          store,
          timeoutMs: 50,
          onStoreFailure: 'open',
          handler: (turn) => turn.json({ hasNone: turn.lease === undefined }),
        },
      },
    })
    expect(await app.site.ask('/in')).toMatchObject({ status: 200, body: '{"hasNone":true}' })
    await store.close()
  })
})
