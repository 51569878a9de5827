import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { LeaseLostError, memoryStore } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RawClient } from './idempotency/raw-client.ts'
import type { Turn } from './idempotency/turns.ts'
import { type AppOptions, type Guard, guards, type Locked, type Options } from './lock/apps.ts'
import { matrix, places } from './lock/matrix.ts'
import { leavingOf, mistakes, Stage, watcher } from './lock/stage.ts'

describe.concurrent.each(matrix)('%s', (_name, guard, framework, backend) => {
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

  it.each(['end', 'reset'] as const)(
    'L15: a client that leaves by %s frees nothing under a handler that is at work',
    async (how) => {
      const stage = new Stage()
      let left: Promise<unknown> | undefined
      await using app = await serving({
        handler: async (turn) => {
          left = leavingOf(turn)
          await stage.handler(turn)
        },
      })
      await using client = await RawClient.to(app.site)
      client.post(undefined)
      await stage.began()
      await client.leave(how)
      await left
      expect((await app.site.ask()).status).toBe(423)
      expect(await app.inspect()).toBeDefined()
      stage.go()
      await app.isFree()
      expect(mistakes(app.errors)).toEqual([])
    },
  )

  it('L15: nor does one that leaves while its response waits behind another of its connection', async () => {
    const stage = new Stage()
    const sockets: unknown[] = []
    let left: Promise<unknown> | undefined
    await using app = await serving({
      key: (turn) => turn.path,
      handler: async (turn) => {
        left = leavingOf(turn)
        sockets.push(turn.req.socket)
        await stage.handler(turn)
      },
    })
    await using client = await RawClient.to(app.site)
    client.post(undefined, '/first', 'keep-alive')
    await stage.began()
    client.post(undefined, '/second')
    await stage.began(2)
    expect(sockets[0]).toBe(sockets[1])
    await client.leave()
    await left
    expect((await app.site.ask('/second')).status).toBe(423)
    stage.go()
    await app.isFree('/first')
    await app.isFree('/second')
  })

  it.each([
    [
      'throws',
      (error: Error) => {
        throw error
      },
    ],
    ['rejects', (error: Error) => Promise.reject(error)],
  ])(
    'L15, L10: what a handler %s goes to the error handler as it is, and frees the key',
    async (_name, fail) => {
      const mistake = new RangeError('too much')
      await using app = await serving({ handler: () => fail(mistake) })
      expect((await app.site.ask()).status).toBe(500)
      expect(app.errors).toHaveLength(1)
      expect(app.errors[0]).toBe(mistake)
      await app.isFree()
    },
  )

  if (guard !== 'lock') {
    it('L15: is held while the promise of the handler is pending, whatever the response does', async () => {
      const stage = new Stage()
      const stream = new PassThrough()
      await using app = await serving({
        handler: async (turn) => {
          if (turn.path === '/early') turn.raw((res) => res.end('early'))
          else turn.stream(stream)
          await stage.work()
        },
      })
      expect((await app.site.ask('/early')).body).toBe('early')
      await stage.began()
      expect((await app.site.ask()).status).toBe(423)
      stage.go()
      await app.isFree()
      const streaming = app.site.ask('/stream')
      await stage.began(2)
      stage.go()
      await app.isFree()
      stream.end('late')
      expect((await streaming).body).toBe('late')
    })

    it('L15: what the handler returns is passed on; refused, that is nothing', async () => {
      const stage = new Stage()
      await using app = await serving({
        handler: async (turn) => {
          await stage.handler(turn)
          return 'receipt'
        },
      })
      const first = app.site.ask()
      await stage.began()
      await app.site.ask()
      expect(app.results).toEqual([undefined])
      stage.go()
      await first
      await app.isFree()
      await eventually(() => expect(app.results).toEqual([undefined, 'receipt']))
    })
  }
})

const inMemory = matrix.filter(([name]) => name.endsWith('memory'))

describe.concurrent.each(inMemory)('%s', (_name, guard, framework) => {
  async function serving(locked: Partial<Locked> & Pick<Locked, 'handler'>) {
    const store = memoryStore()
    const app = await framework.serve({ routes: { '/': { guard, key: 'k', store, ...locked } } })
    return { ...app, ...watcher(store) }
  }

  it('L15: with renew, the default, the lease lasts as long as the handler is at work', async () => {
    const stage = new Stage()
    await using app = await serving({ leaseMs: 1000, handler: stage.handler })
    const first = app.site.ask()
    await stage.began()
    const { fence } = (await app.inspect()) ?? {}
    await eventually(async () => Number((await app.inspect())?.heldMs) > 2200)
    expect((await app.site.ask()).status).toBe(423)
    expect(await app.inspect()).toMatchObject({ fence })
    stage.go()
    expect((await first).status).toBe(200)
    await app.isFree()
  })

  it.each([
    ['without renew', { leaseMs: 800, renew: false }, 'silence'],
    ['at maxHoldMs', { leaseMs: 800, maxHoldMs: 1200 }, 'max-hold'],
  ] as const)(
    'L15, L16: a lease that is lost %s aborts the signal of the handler, and nothing else',
    async (_name, options, reason) => {
      await using app = await serving({
        ...options,
        handler: async (turn) => {
          const { signal } = turn.lease ?? {}
          if (signal && !signal.aborted) await once(signal, 'abort')
          turn.json({
            reason: signal?.reason.reason,
            isOurs: signal?.reason instanceof LeaseLostError,
          })
        },
      })
      const reply = await app.site.ask()
      expect(reply.status).toBe(200)
      expect(JSON.parse(reply.body)).toEqual({ reason, isOurs: true })
      await app.isFree()
    },
  )
})

describe.concurrent.each(places)('%s', (_name, framework, backend) => {
  const isExpress = framework.family === 'express'
  /** Express cannot tell when a handler that returns no promise is done, so the response must. */
  const untilAnswered: readonly Guard[] = isExpress ? guards : ['lock']

  async function serving(routes: AppOptions['routes']) {
    const { store, [Symbol.asyncDispose]: close } = backend.open()
    const onStore = Object.entries(routes).map(([path, locked]) => [
      path,
      { store, timeoutMs: 5000, ...locked },
    ])
    const app = await framework.serve({ routes: Object.fromEntries(onStore) })
    return {
      ...app,
      ...watcher(store),
      [Symbol.asyncDispose]: async () => {
        await app[Symbol.asyncDispose]()
        await close()
      },
    }
  }

  describe.each(untilAnswered)('%s', (guard) => {
    const locked = (handler: (turn: Turn) => void, options: Options = {}) =>
      serving({ '/': { guard, key: 'k', handler, ...options } })

    it('L15: is held until the response is finished, when the handler returned long before', async () => {
      const stream = new PassThrough()
      await using app = await locked((turn) => turn.stream(stream))
      stream.write('begun, ')
      const streaming = app.site.ask()
      await eventually(async () => expect(await app.inspect()).toBeDefined())
      expect((await app.site.ask()).status).toBe(423)
      stream.end('done')
      expect((await streaming).body).toBe('begun, done')
      await app.isFree()
    })

    it('L15: and, when the client has left, until the handler has ended it', async () => {
      const responses: Turn['res'][] = []
      await using app = await locked((turn) => turn.raw((res) => responses.push(res)))
      for (const begin of [() => {}, (res: Turn['res']) => res.write('begun, ')]) {
        await using client = await RawClient.to(app.site)
        client.post(undefined)
        const res = await eventually(() => {
          const last = responses.pop()
          if (!last) throw new Error('not asked yet')
          return last
        })
        begin(res)
        await client.leave()
        await eventually(() => res.destroyed)
        expect((await app.site.ask()).status).toBe(423)
        res.end('done')
        await app.isFree()
      }
    })

    it('L15: a handler that cuts its response off is done with it', async () => {
      await using app = await locked((turn) =>
        turn.raw((res) => {
          res.write('begun, ')
          setImmediate(() => res.destroy())
        }),
      )
      await expect(app.site.ask()).rejects.toThrow()
      await app.isFree()
    })

    it('L15: a handler that returns nothing and never answers holds it until maxHoldMs', async () => {
      const signals: (AbortSignal | undefined)[] = []
      const maxHoldMs = 1600
      await using app = await locked((turn) => turn.raw(() => signals.push(turn.lease?.signal)), {
        leaseMs: 800,
        maxHoldMs,
      })
      await using client = await RawClient.to(app.site)
      client.post(undefined)
      await eventually(() => signals.length === 1)
      await client.leave()
      await eventually(async () => Number((await app.inspect())?.heldMs) > 900)
      expect((await app.site.ask()).status).toBe(423)
      await app.isFree()
      const lost = { code: 'lease-lost', reason: 'max-hold' }
      await eventually(() => expect(signals[0]?.reason).toMatchObject(lost))
    })
  })

  it.each(guards)(
    'L15: a second guard of the same key on one request is refused after its waitMs (%s)',
    async (guard) => {
      const stage = new Stage()
      await using app = await serving({
        '/': { guard: 'lock', key: 'k', handler: (_turn, next) => next() },
        '/in': { guard, key: ['k', 'j'], waitMs: 1000, handler: stage.handler },
      })
      expect((await app.site.ask('/in')).status).toBe(423)
      expect(stage.begun).toBe(0)
      await app.isFree()
    },
  )

  it.each(guards)(
    'L16: of several guards, each handler sees the lease of the nearest (%s)',
    async (guard) => {
      const keys: unknown[] = []
      const note = (turn: Turn) => keys.push(turn.lease?.key)
      await using app = await serving({
        '/': {
          guard: 'lock',
          key: 'outer',
          handler: async (turn, next) => {
            note(turn)
            await next()
            if (!isExpress) note(turn)
          },
        },
        '/in': {
          guard,
          key: 'inner',
          handler: (turn) => {
            note(turn)
            turn.json({})
          },
        },
      })
      expect((await app.site.ask('/in')).status).toBe(200)
      await app.isFree('outer')
      await app.isFree('inner')
      expect(keys).toEqual(isExpress ? ['outer', 'inner'] : ['outer', 'inner', 'outer'])
    },
  )
})
