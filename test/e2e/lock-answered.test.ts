import { EventEmitter, once } from 'node:events'
import { LockTimeoutError } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RawClient } from './idempotency/raw-client.ts'
import type { Turn } from './idempotency/turns.ts'
import { frameworks, guards } from './lock/apps.ts'
import { slowStore } from './lock/slow-store.ts'
import { Stage, watcher } from './lock/stage.ts'

const ofProcess = watcher()

describe.concurrent.each(frameworks)('$name', (framework) => {
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
