import { EventEmitter, once } from 'node:events'
import {
  ConfigurationError,
  hashKey,
  type LockEvent,
  LockTimeoutError,
  subscribe,
} from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RawClient } from './idempotency/raw-client.ts'
import type { Turn } from './idempotency/turns.ts'
import { frameworks, guards, type Locked } from './lock/apps.ts'
import { matrix } from './lock/matrix.ts'
import { slowStore } from './lock/slow-store.ts'
import { mistakes, Stage, watcher } from './lock/stage.ts'

const contended = JSON.stringify({
  type: 'urn:sluice:problem:lock-contended',
  title: 'The resource is locked by another request',
  status: 423,
  detail: 'Nothing was run. Try again when the other request is done.',
})

describe.concurrent.each(matrix)('%s', (name, guard, framework, backend) => {
  /** An app whose only route is locked, and a look at its store. */
  async function serving(locked: Partial<Locked> & Pick<Locked, 'handler'>) {
    const { store, [Symbol.asyncDispose]: close } = backend.open()
    const app = await framework.serve({
      routes: { '/': { guard, key: 'k', store, timeoutMs: 5000, ...locked } },
    })
    return {
      ...app,
      ...watcher(store),
      [Symbol.asyncDispose]: async () => {
        await app[Symbol.asyncDispose]()
        await close()
      },
    }
  }

  it('L15: lets one request of a key go on, and refuses the others with 423 and a true Retry-After', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler })
    const first = app.site.ask()
    await stage.began()
    const second = await app.site.ask('/', { method: 'POST' })
    expect(second).toMatchObject({ status: 423, body: contended })
    expect(second.headers['content-type']).toBe('application/problem+json')
    expect(second.headers['content-length']).toBe(String(contended.length))
    expect(Number(second.headers['retry-after'])).toBeOneOf([9, 10])
    stage.go()
    expect(await first).toMatchObject({ status: 200 })
    await app.isFree()
    const third = app.site.ask()
    await stage.began(2)
    stage.go()
    expect(await third).toMatchObject({ status: 200 })
    expect(app.errors).toEqual([])
  })

  it('L15: a refusal of HEAD has the same fields, and no body', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler, leaseMs: 900, renew: false })
    const first = app.site.ask()
    await stage.began()
    const refused = await app.site.ask('/', { method: 'HEAD' })
    expect(refused).toMatchObject({ status: 423, body: '' })
    expect(refused.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'content-length': String(contended.length),
      'retry-after': '1',
    })
    stage.go()
    await first
  })

  it('L15: the status of a refusal is an option, and its document says so', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler, status: 409 })
    const first = app.site.ask()
    await stage.began()
    const refused = await app.site.ask()
    expect(refused.status).toBe(409)
    expect(JSON.parse(refused.body)).toMatchObject({
      type: 'urn:sluice:problem:lock-contended',
      status: 409,
    })
    stage.go()
    await first
  })

  it('L15: twenty payments of one order run one at a time, none is refused, and fences rise', async () => {
    const stage = new Stage()
    const fences: number[] = []
    await using app = await serving({
      key: (turn) => `order:${turn.path.split('/')[1]}`,
      waitMs: 15_000,
      handler: async (turn) => {
        setTimeout(() => stage.go(), 2)
        await stage.work()
        fences.push(Number(turn.lease?.fence))
        turn.json({})
      },
    })
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => app.site.ask('/7', { method: 'POST' })),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(stage).toMatchObject({ begun: 20, most: 1 })
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
    await app.isFree('order:7')
  })

  it('L15: different keys do not exclude each other; of several keys each one does', async () => {
    const stage = new Stage()
    await using app = await serving({
      key: async (turn) => turn.path.slice(1).split('+'),
      handler: stage.handler,
    })
    const both = app.site.ask('/a+b')
    await stage.began()
    const other = app.site.ask('/c')
    await stage.began(2)
    expect((await app.site.ask('/b')).status).toBe(423)
    expect((await app.site.ask('/c+a')).status).toBe(423)
    stage.go()
    expect(await Promise.all([both, other])).toMatchObject([{ status: 200 }, { status: 200 }])
  })

  it('L15: a request that stood in line for all of waitMs is refused', async () => {
    const stage = new Stage()
    await using app = await serving({ handler: stage.handler, waitMs: 1200 })
    await using _held = await app.hold()
    const askedAt = performance.now()
    expect((await app.site.ask()).status).toBe(423)
    expect(performance.now() - askedAt).toBeGreaterThan(1190)
    expect(stage.begun).toBe(0)
  })

  it.each(['end', 'reset'] as const)(
    'L15, L6: a client that leaves the line by %s is gone from it at once, and nothing runs for it',
    async (how) => {
      const stage = new Stage()
      await using app = await serving({ handler: stage.handler, waitMs: 60_000 })
      const first = app.site.ask()
      await stage.began()
      await using client = await RawClient.to(app.site)
      client.post(undefined)
      await app.hasWaiters(1)
      await client.leave(how)
      await app.hasWaiters(0)
      stage.go()
      await first
      await app.isFree()
      expect(stage.begun).toBe(1)
      expect(mistakes(app.errors)).toEqual([])
    },
  )

  it('L15, L6: a client whose request waits behind another of its connection leaves the line too', async () => {
    const stage = new Stage()
    await using app = await serving({
      key: (turn) => turn.path,
      handler: stage.handler,
      waitMs: 60_000,
    })
    const first = app.site.ask('/busy')
    await using client = await RawClient.to(app.site)
    await stage.began()
    client.post(undefined, '/slow', 'keep-alive')
    await stage.began(2)
    client.post(undefined, '/busy')
    await app.hasWaiters(1, '/busy')
    await client.leave()
    await app.hasWaiters(0, '/busy')
    stage.go()
    await first
    await app.isFree('/busy')
    expect(stage.begun).toBe(2)
  })

  it('L11: a callback that gives no key is a ConfigurationError for the error handler, and nothing runs', async () => {
    const stage = new Stage()
    const wrong: unknown[] = ['', 7, undefined, Promise.resolve(null), [], ['a', '']]
    await using app = await serving({
      key: (turn) => wrong[Number(turn.path.slice(1))] as string,
      handler: stage.handler,
    })
    for (const index of wrong.keys()) expect((await app.site.ask(`/${index}`)).status).toBe(500)
    expect(app.errors).toEqual(Array(wrong.length).fill(expect.any(ConfigurationError)))
    for (const error of app.errors)
      expect((error as Error).message).toMatch(new RegExp(`^${guard}: \`key`))
    expect(stage.begun).toBe(0)
  })

  it('L15: what a callback throws goes to the error handler as it is, and nothing is locked', async () => {
    const mistake = new TypeError('no such order')
    const refuse = () => {
      throw mistake
    }
    for (const callbacks of [{ key: refuse }, { metadata: refuse }]) {
      await using app = await serving({ ...callbacks, handler: () => {} })
      expect((await app.site.ask()).status).toBe(500)
      expect(app.errors).toEqual([mistake])
      expect(app.errors[0]).toBe(mistake)
      expect(await app.inspect()).toBeUndefined()
    }
  })

  it('L16, L17: the handler sees its lease, and inspect shows what metadata tells of the request', async () => {
    const stage = new Stage()
    const seen: unknown[] = []
    await using app = await serving({
      metadata: (turn) => ({ path: turn.path }),
      handler: async (turn) => {
        const { key, signal } = turn.lease ?? {}
        seen.push(key, signal?.aborted, Number(turn.lease?.remainingMs()) > 9000)
        await stage.handler(turn)
      },
    })
    const first = app.site.ask('/orders')
    await stage.began()
    const state = await app.inspect()
    expect(state?.metadata).toEqual({ path: '/orders' })
    stage.go()
    expect(JSON.parse((await first).body)).toEqual({ fence: state?.fence })
    expect(seen).toEqual(['k', false, true])
  })

  it('L15: events tell of the lock, with its key hashed', async () => {
    const key = `secret of ${name}`
    const events: LockEvent[] = []
    const stop = subscribe('sluice:lock', (event) => {
      if (event.keyHash === hashKey(key)) events.push(event)
    })
    await using app = await serving({ key, handler: (turn) => turn.json({}) })
    await app.site.ask()
    await app.isFree(key)
    stop()
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
    expect(JSON.stringify(events)).not.toContain('secret')
  })
})

const ofProcess = watcher()

describe.concurrent.each(frameworks)('$name', (framework) => {
  it('L15: guards without a store share the one of the process, so that two routes exclude each other', async () => {
    const stage = new Stage()
    const key = `shared:${framework.name}`
    const { handler } = stage
    await using app = await framework.serve({
      routes: {
        '/lock': { guard: 'lock', key, handler },
        '/with': { guard: 'withLock', key: () => key, handler },
        '/class': { guard: 'Locked', key: [key], handler },
      },
    })
    for (const [count, holder] of ['/lock', '/with', '/class'].entries()) {
      const held = app.site.ask(holder)
      await stage.began(count + 1)
      for (const path of ['/lock', '/with', '/class'])
        expect((await app.site.ask(path)).status).toBe(423)
      stage.go()
      expect((await held).status).toBe(200)
      await ofProcess.isFree(key)
    }
  })

  it('L15: when somebody would not wait and answered, nothing runs', async () => {
    const stage = new Stage()
    const events = new EventEmitter()
    const { handler } = stage
    const key = `answered:${framework.name}`
    await using app = await framework.serve({
      outer: async (turn: Turn, next) => {
        if (turn.path !== '/impatient') return next()
        const impatient = once(events, 'impatient')
        const answer = () => turn.raw((res) => res.writeHead(504).end())
        return Promise.all([impatient.then(answer), next()])
      },
      routes: { '/': { guard: 'lock', key, waitMs: 60_000, handler } },
    })
    const first = app.site.ask()
    await stage.began()
    const second = app.site.ask('/impatient')
    await ofProcess.hasWaiters(1, key)
    events.emit('impatient')
    expect((await second).status).toBe(504)
    await ofProcess.hasWaiters(0, key)
    stage.go()
    await first
    expect(stage.begun).toBe(1)
    expect(app.errors).toEqual([])
  })

  it.each(guards)(
    'L15: a client that leaves while the store is asked frees the key, and nothing runs (%s)',
    async (guard) => {
      const slow = slowStore()
      const stage = new Stage()
      await using app = await framework.serve({
        routes: { '/': { guard, key: 'k', store: slow.store, handler: stage.handler } },
      })
      const left = new Promise((resolve) => {
        app.site.server.once('connection', (socket) => socket.once('close', resolve))
      })
      await using client = await RawClient.to(app.site)
      const asked = slow.asked()
      client.post(undefined)
      await asked
      await client.leave()
      await left
      await slow.go()
      await watcher(slow.store).isFree()
      const next = app.site.ask()
      await stage.began()
      stage.go()
      await next
      expect(stage.begun).toBe(1)
    },
  )

  it.each(guards)(
    'L15: who has begun to answer cannot refuse: the error goes to the error handler (%s)',
    async (guard) => {
      const stage = new Stage()
      const key = `begun:${framework.name}:${guard}`
      await using app = await framework.serve({
        outer: (turn, next) => {
          if (turn.path === '/begun') turn.raw((res) => res.write('begun'))
          return next()
        },
        routes: { '/': { guard, key, handler: stage.handler } },
      })
      const first = app.site.ask()
      await stage.began()
      await using client = await RawClient.to(app.site)
      client.post(undefined, '/begun')
      await eventually(() => expect(app.errors).toEqual([expect.any(LockTimeoutError)]))
      expect(app.errors).toMatchObject([{ code: 'lock-timeout', key }])
      stage.go()
      await first
    },
  )
})
