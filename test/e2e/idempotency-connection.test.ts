import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { memoryStore, type RequestIdempotency } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { frameworks } from './idempotency/apps.ts'
import { post } from './idempotency/client.ts'
import { inspector } from './idempotency/inspector.ts'
import { RawClient } from './idempotency/raw-client.ts'

const tick = () => new Promise(setImmediate)

describe.each(frameworks)('in $name', (framework) => {
  it.each([
    ['before', 200],
    ['after', 400],
  ])(
    'I12: a handler that never ends hears of the close when its lease is over, if its client left %s that',
    async (when, leaveAfterMs) => {
      const store = memoryStore()
      let begunAt = 0
      let closedAt = 0
      await using app = await framework.serve({
        store,
        leaseMs: 300,
        maxRunMs: 300,
        handler: async (turn) => {
          begunAt = performance.now()
          turn.raw((res) => {
            res.write('begun')
            res.once('close', () => {
              closedAt = performance.now()
            })
          })
          const { signal } = turn.idempotency as RequestIdempotency
          if (!signal.aborted) await once(signal, 'abort')
          await new Promise(() => {})
        },
      })
      await using client = await RawClient.to(app.site)
      client.post('k')
      await eventually(() => begunAt > 0)
      await new Promise((resolve) => setTimeout(resolve, leaveAfterMs))
      expect(closedAt).toBe(0)
      await client.leave()
      await eventually(() => closedAt > 0)
      expect(closedAt - begunAt).toBeGreaterThan(when === 'before' ? 250 : leaveAfterMs)
      const state = inspector(store)
      await eventually(async () => expect(await state()).toBe('unknown'))
      expect(performance.now() - begunAt).toBeGreaterThan(300)
    },
  )

  it('I9: a connection that the server gave up is one that the client has left', async () => {
    const store = memoryStore()
    const events = new EventEmitter()
    await using app = await framework.serve({
      store,
      onUnknown: 'rerun',
      handler: async (turn) => {
        const closed = new Promise((resolve) => turn.req.socket.once('close', resolve))
        events.emit('begun', turn.req.socket)
        await closed
        await tick()
        events.emit('closed')
        await once(events, 'go')
        turn.json({ attempt: turn.idempotency?.attempt })
      },
    })
    const giveUps: readonly ((socket: Socket, client: RawClient) => unknown)[] = [
      (socket) => socket.setTimeout(30),
      (_socket, client) => client.socket.write('no request at all\r\n\r\n'),
      () => app.site.server.closeAllConnections(),
    ]
    for (const [index, giveUp] of giveUps.entries()) {
      const [begun, closed] = [once(events, 'begun'), once(events, 'closed')]
      await using client = await RawClient.to(app.site)
      client.post(`k${index}`, '/', 'keep-alive')
      const [socket] = (await begun) as [Socket]
      giveUp(socket, client)
      await closed
      const ask = () => post(app.site, { key: `k${index}`, body: '{}' })
      expect(await ask(), 'nobody else may run it meanwhile').toMatchObject({ status: 409 })
      events.emit('go')
      await eventually(async () => expect((await ask()).text).toBe('{"attempt":1}'))
    }
  })

  it('I9: a connection that was idle for too long amid the answer leaves it whole nevertheless', async () => {
    const store = memoryStore()
    await using app = await framework.serve({
      store,
      handler: async (turn) => {
        const closed = new Promise((resolve) => turn.req.socket.once('close', resolve))
        turn.raw((res) => res.write('before, '))
        turn.req.socket.setTimeout(30)
        await closed
        await tick()
        turn.res.write('after')
        turn.res.end()
      },
    })
    await using client = await RawClient.to(app.site)
    client.post('k')
    await client.end()
    const ask = () => post(app.site, { key: 'k', body: '{}' })
    await eventually(async () => expect((await ask()).text).toBe('before, after'))
  })

  it('I9: of two requests that were sent together, the second is stored whole although its turn never comes', async () => {
    const store = memoryStore()
    const events = new EventEmitter()
    await using app = await framework.serve({
      store,
      handler: async (turn) => {
        events.emit(turn.path)
        const closed = new Promise((resolve) => turn.req.socket.once('close', resolve))
        if (turn.path === '/one') {
          await closed
          return turn.json({ path: turn.path })
        }
        turn.raw((res) => res.writeHead(200, { 'Content-Length': 6 }).write('abc'))
        await closed
        turn.res.write('def')
        turn.res.end()
      },
    })
    await using client = await RawClient.to(app.site)
    const begun = Promise.all([once(events, '/one'), once(events, '/two')])
    client.post('one', '/one', 'keep-alive')
    client.post('two', '/two', 'keep-alive')
    await begun
    await client.leave()
    for (const [key, text] of [
      ['one', '{"path":"/one"}'],
      ['two', 'abcdef'],
    ]) {
      const ask = () => post(app.site, { key: String(key), path: `/${key}`, body: '{}' })
      await eventually(async () => expect((await ask()).text).toBe(text))
    }
  })
})
