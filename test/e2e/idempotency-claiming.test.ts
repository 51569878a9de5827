import { EventEmitter, once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import {
  type IdempotencyStore,
  memoryStore,
  redisStore,
  StoreUnavailableError,
  subscribe,
} from '@sluice/express'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { RedisServer } from '../support/redis-server.ts'
import { frameworks } from './idempotency/apps.ts'
import { countingOn } from './idempotency/counting.ts'
import { RawClient } from './idempotency/raw-client.ts'
import { slowStore } from './idempotency/slow-store.ts'

describe.each(frameworks)('in $name', (framework) => {
  const counting = countingOn(framework)

  it('I16: with no Redis to be reached, closed answers 503 in time and open runs once, with an event', async () => {
    const redis = new Redis(await freePort())
    redis.on('error', () => {})
    const store = redisStore(redis)
    const events: unknown[] = []
    const stop = subscribe('sluice:idempotency', (event) => events.push(event))
    try {
      await using closed = await counting({ store, timeoutMs: 50 })
      const answer = await closed.ask({ key: 'k' })
      expect(answer.status).toBe(503)
      expect(answer.headers['retry-after']).toBe('1')
      expect(closed.runs()).toBe(0)
      await using open = await counting({ store, timeoutMs: 50, onStoreFailure: 'open' })
      expect((await open.ask({ key: 'k' })).text).toBe('{"run":1}')
      expect(events).toContainEqual(expect.objectContaining({ type: 'unprotected' }))
    } finally {
      stop()
      redis.disconnect()
      await store.close()
    }
  })

  it('I15: a client that leaves while it waits claims nothing', async () => {
    const events = new EventEmitter()
    const watched = slowStore()
    watched.go()
    await using app = await counting({
      store: watched.store,
      onConcurrent: { waitMs: 5000 },
      handler: async (turn) => {
        events.emit('begun')
        if (app.runs() === 1) await once(events, 'go')
        turn.status(429)
        turn.json({ run: app.runs() })
      },
    })
    const begun = once(events, 'begun')
    await using owner = await RawClient.to(app.site)
    owner.post('k')
    await begun
    const waiting = once(app.site.server, 'request') as Promise<[IncomingMessage]>
    await using waiter = await RawClient.to(app.site)
    waiter.post('k')
    const [request] = await waiting
    await waiter.leave()
    await eventually(() => request.socket.closed)
    const claims = () => watched.calls.filter((call) => call === 'claim').length
    const claimed = claims()
    events.emit('go')
    await owner.end()
    expect((await app.ask({ key: 'k', body: '{}' })).text).toBe('{"run":2}')
    // Its own claim, and none of the waiter's.
    expect(claims() - claimed).toBe(1)
  })

  it('I9: a client that left while its key was claimed starts nothing, and leaves the key free', async () => {
    const slow = slowStore('claim')
    await using app = await counting({ store: slow.store })
    const asked = slow.asked()
    const arrived = once(app.site.server, 'request') as Promise<[IncomingMessage]>
    await using client = await RawClient.to(app.site)
    client.post('k')
    const [[request]] = await Promise.all([arrived, asked])
    await client.leave()
    await eventually(() => request.socket.closed)
    slow.go()
    await eventually(() => expect(slow.settlements).toEqual(['absent']))
    expect(app.runs()).toBe(0)
    expect((await app.ask({ key: 'k', body: '{}' })).text).toBe('{"run":1}')
  })

  it('I9: a request that somebody else answers while its key is claimed starts nothing, and leaves the key free', async () => {
    const slow = slowStore('claim')
    await using app = await counting({
      store: slow.store,
      outer: (turn) => {
        if (turn.req.headers['x-late']) void slow.asked().then(() => turn.res.writeHead(503).end())
      },
    })
    const answered = app.ask({ key: 'k', headers: { 'X-Late': 'yes' } })
    expect((await answered).status).toBe(503)
    slow.go()
    await eventually(() => expect(slow.settlements).toEqual(['absent']))
    expect(app.runs()).toBe(0)
    expect((await app.ask({ key: 'k' })).text).toBe('{"run":1}')
    const replay = app.ask({ key: 'k', headers: { 'X-Late': 'yes' } })
    expect((await replay).status).toBe(503)
    expect(app.errors).toEqual([])
  })

  it('I9: a request that was answered before starts nothing, and leaves the key free', async () => {
    await using app = await counting({
      outer: (turn) => {
        if (turn.req.headers['x-answered']) turn.res.writeHead(403).end()
      },
    })
    expect((await app.ask({ key: 'k', headers: { 'X-Answered': 'yes' } })).status).toBe(403)
    expect(app.runs()).toBe(0)
    expect((await app.ask({ key: 'k' })).text).toBe('{"run":1}')
    expect(app.errors).toEqual([])
  })

  it('I14: a store that goes away while the handler runs costs the response one deadline at most', async () => {
    await using redis = await RedisServer.start()
    const client = new Redis(redis.port)
    client.on('error', () => {})
    const store = redisStore(client)
    await using app = await counting({
      store,
      timeoutMs: 500,
      handler: async (turn) => {
        if (turn.idempotency?.key === 'k') redis.pause()
        turn.json({ charged: true })
      },
    })
    // The client is connected then, and the server knows the scripts.
    await eventually(async () => (await app.ask({ key: 'warm' })).status === 200)
    const before = app.runs()
    expect(await app.ask({ key: 'k' })).toMatchObject({ status: 200, text: '{"charged":true}' })
    redis.resume()
    const completed = async () => (await app.ask({ key: 'k' })).text === '{"charged":true}'
    await eventually(completed)
    expect(app.runs() - before).toBe(1)
    client.disconnect()
    await store.close()
  })

  it('I1, I16: open or not, a copy that waits for a running request does not run when the store fails', async () => {
    const gate = new EventEmitter()
    const inner = memoryStore()
    let claims = 0
    const idempotency = new Proxy(inner.idempotency as IdempotencyStore, {
      get(target, name: keyof IdempotencyStore) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'watch') return value.bind(target)
        return async (...args: unknown[]) => {
          if (name === 'claim' && ++claims > 2)
            throw new StoreUnavailableError('failure', 'it fails')
          return Reflect.apply(value, target, args)
        }
      },
    })
    await using app = await counting({
      store: { ...inner, idempotency },
      onStoreFailure: 'open',
      onConcurrent: { waitMs: 10_000 },
      handler: async (turn) => {
        gate.emit('begun')
        await once(gate, 'go')
        turn.json({ run: app.runs() })
      },
    })
    const begun = once(gate, 'begun')
    const first = app.ask({ key: 'k' })
    await begun
    const copy = await app.ask({ key: 'k' })
    expect(copy.status).toBe(503)
    expect(app.runs()).toBe(1)
    gate.emit('go')
    expect((await first).text).toBe('{"run":1}')
    const unprotected = app.ask({ key: 'other' })
    await once(gate, 'begun')
    gate.emit('go')
    expect((await unprotected).text).toBe('{"run":2}')
  })
})
