import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { RawClient } from './idempotency/raw-client.ts'
import { matrix } from './lock/matrix.ts'
import { servingOne, type Unguarded } from './lock/serving.ts'
import { leavingOf, mistakes, Stage } from './lock/stage.ts'

describe.concurrent.each(matrix)('%s', (_name, guard, framework, backend) => {
  const serving = (locked: Unguarded) => servingOne(framework, backend, { guard, ...locked })

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
