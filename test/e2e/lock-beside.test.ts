import { randomBytes } from 'node:crypto'
import { lock, memoryStore, redisStore } from '@sluice/express'
import compression from 'compression'
import express5 from 'express'
import express4 from 'express4'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type App, Site } from '../support/http.ts'
import { post, problemCode } from './idempotency/client.ts'
import { RawClient } from './idempotency/raw-client.ts'
import { frameworks, guards, type Options } from './lock/apps.ts'
import { mistakes, Stage, watcher } from './lock/stage.ts'

const matrix = frameworks.flatMap((framework) =>
  guards.map((guard) => [`${guard} in ${framework.name}`, guard, framework] as const),
)

describe.concurrent.each(matrix)('behind idempotency(), %s', (_name, guard, framework) => {
  async function serving(options: Options) {
    const stage = new Stage()
    const store = memoryStore()
    const app = await framework.serve({
      idempotency: 'before',
      routes: { '/': { guard, key: 'k', handler: stage.handler, store, ...options } },
    })
    return { ...app, ...watcher(store), stage }
  }

  it('L15, I9: a refusal is no result: a retry with the same key runs, and that is replayed', async () => {
    await using app = await serving({ status: 409 })
    const first = post(app.site, { key: 'a' })
    await app.stage.began()
    expect(problemCode(await post(app.site, { key: 'b' }))).toBe('lock-contended')
    app.stage.go()
    await first
    await app.isFree()
    const retry = post(app.site, { key: 'b' })
    await app.stage.began(2)
    app.stage.go()
    const { status, text } = await retry
    expect(status).toBe(200)
    expect(await post(app.site, { key: 'b' })).toMatchObject({ status, text })
    expect(app.stage.begun).toBe(2)
  })

  it('L15, I9: nor is a store of locks that cannot be asked', async () => {
    const redis = new Redis(await freePort())
    redis.on('error', () => {})
    const store = redisStore(redis)
    await using app = await serving({ store, timeoutMs: 50 })
    for (let n = 0; n < 2; n++) {
      const answer = await post(app.site, { key: 'a' })
      expect(problemCode(answer)).toBe('store-unavailable')
      expect(answer.headers).not.toHaveProperty('idempotency-replayed')
    }
    redis.disconnect()
    await store.close()
  })

  it('L15, I9: a client that left the line may come again', async () => {
    await using app = await serving({ waitMs: 60_000 })
    const first = post(app.site, { key: 'a' })
    await app.stage.began()
    await using client = await RawClient.to(app.site)
    client.post('b')
    await app.hasWaiters(1)
    await client.leave()
    await app.hasWaiters(0)
    app.stage.go()
    await first
    const retry = post(app.site, { key: 'b' })
    await app.stage.began(2)
    app.stage.go()
    expect((await retry).status).toBe(200)
    expect(mistakes(app.errors)).toEqual([])
  })

  it('L15, I9: a client that leaves a running handler frees the key only when that is done, and gets its result later', async () => {
    await using app = await serving({})
    await using client = await RawClient.to(app.site)
    client.post('a')
    await app.stage.began()
    await client.leave()
    await eventually(async () => {
      expect(problemCode(await post(app.site, { key: 'b' }))).toBe('lock-contended')
    })
    app.stage.go()
    await app.isFree()
    expect((await post(app.site, { key: 'a' })).headers['idempotency-replayed']).toBe('true')
    expect(app.stage.begun).toBe(1)
  })
})

describe.concurrent.each(matrix)(
  'in front of idempotency(), lock(), and behind it %s',
  (_name, guard, framework) => {
    async function serving(options: Options) {
      const stage = new Stage()
      const store = memoryStore()
      const app = await framework.serve({
        idempotency: 'behind',
        routes: {
          '/': { guard: 'lock', key: 'outer', store, ...options, handler: (_turn, next) => next() },
          '/in': { guard, key: 'inner', store, handler: stage.handler },
        },
      })
      return { ...app, ...watcher(store), stage }
    }

    it('L15, I9: copies of a request stand in line for its result', async () => {
      await using app = await serving({ waitMs: 60_000 })
      const copies = Array.from({ length: 5 }, () => post(app.site, { key: 'a', path: '/in' }))
      await app.stage.began()
      await app.hasWaiters(1, 'outer')
      app.stage.go()
      const answers = await Promise.all(copies)
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(app.stage.begun).toBe(1)
    })

    it('L15, I9: a client that leaves frees nothing before its result is there', async () => {
      await using app = await serving({})
      await using client = await RawClient.to(app.site)
      client.post('a', '/in')
      await app.stage.began()
      await client.leave()
      await eventually(async () => {
        const answer = await post(app.site, { key: 'b', path: '/in' })
        expect(problemCode(answer)).toBe('lock-contended')
      })
      app.stage.go()
      await app.isFree('outer')
      const again = await post(app.site, { key: 'a', path: '/in' })
      expect(again.headers['idempotency-replayed']).toBe('true')
    })
  },
)

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('in %s', (_name, express) => {
  it('L15: a client that leaves amid a compressed response frees the key', async () => {
    const store = memoryStore()
    const { isFree } = watcher(store)
    const app = express()
    app.use(compression({ threshold: 0 }), lock('k', { store }))
    const incompressible = randomBytes(30_000_000)
    app.use((_req, res) => void res.type('text/plain').end(incompressible))
    await using site = await Site.serve(app as App)
    await using client = await RawClient.to(site)
    client.socket.write('GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n')
    await eventually(() => client.received.length > 0)
    await client.leave()
    await isFree()
  })
})
