import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RawClient } from './idempotency/raw-client.ts'
import type { Turn } from './idempotency/turns.ts'
import { type Guard, guards, type Options } from './lock/apps.ts'
import { places } from './lock/matrix.ts'
import { servingOne } from './lock/serving.ts'
import { leavingOf, Stage } from './lock/stage.ts'

describe.concurrent.each(places)('%s', (_name, framework, backend) => {
  const isExpress = framework.family === 'express'
  /** Express cannot tell when a handler that returns no promise is done, so the response must. */
  const untilAnswered: readonly Guard[] = isExpress ? guards : ['lock']

  describe.each(untilAnswered)('%s', (guard) => {
    const locked = (handler: (turn: Turn) => unknown, options: Options = {}) =>
      servingOne(framework, backend, { guard, handler, ...options })

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

    it.each(['before', 'after'])(
      'L15: a handler that fails amid its response, %s its client left, frees the key',
      async (when) => {
        const stage = new Stage()
        let left: Promise<unknown> | undefined
        await using app = await locked(async (turn) => {
          left = leavingOf(turn)
          turn.raw((res) => res.write('begun, '))
          await stage.work()
          throw new RangeError('too much')
        })
        await using client = await RawClient.to(app.site)
        client.post(undefined)
        await stage.began()
        if (when === 'before') {
          stage.go()
          await eventually(() => app.errors.length > 0)
        }
        if (!client.socket.closed) await client.leave()
        await left
        if (when === 'after') {
          expect((await app.site.ask()).status).toBe(423)
          stage.go()
        }
        await app.isFree()
      },
    )

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
})
