import { EventEmitter, once } from 'node:events'
import { PassThrough, pipeline, Readable } from 'node:stream'
import { memoryStore, type Store } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type AppOptions, frameworks } from './idempotency/apps.ts'
import { post } from './idempotency/client.ts'
import { inspector } from './idempotency/inspector.ts'
import { RawClient } from './idempotency/raw-client.ts'
import type { Turn } from './idempotency/turns.ts'

const tick = () => new Promise(setImmediate)

describe.each(frameworks)('in $name', (framework) => {
  describe.each(['end', 'reset'] as const)('when the client leaves by %s', (how) => {
    async function leaving(
      options: Partial<AppOptions>,
      handler: (turn: Turn, left: Promise<unknown>) => void | Promise<void>,
      check: (facts: {
        store: Store
        state: () => Promise<string | undefined>
        ask: () => ReturnType<typeof post>
      }) => Promise<void>,
    ) {
      const store = memoryStore()
      const events = new EventEmitter()
      await using app = await framework.serve({
        store,
        ...options,
        handler: async (turn) => {
          const left = new Promise((resolve) => turn.req.socket.once('close', resolve)).then(tick)
          events.emit('begun')
          await handler(turn, left)
        },
      })
      const begun = once(events, 'begun')
      await using client = await RawClient.to(app.site)
      client.post('k')
      await begun
      await tick()
      await new Promise((resolve) => setTimeout(resolve, 20))
      await client.leave(how)
      const state = inspector(store)
      await check({
        store,
        state: () => state('k'),
        ask: () => post(app.site, { key: 'k', body: '{}' }),
      })
    }

    const settles = (state: () => Promise<string | undefined>, to: string) =>
      eventually(async () => expect(await state()).toBe(to))

    it('I9: before the answer, the handler goes on and its result is replayed', () =>
      leaving(
        {},
        async (turn, left) => {
          await left
          turn.json({ done: true })
        },
        async ({ state, ask }) => {
          await settles(state, 'completed')
          expect(await ask()).toMatchObject({ status: 200, text: '{"done":true}' })
        },
      ))

    it('I9: before the answer, a stream that begins then is stored whole', () =>
      leaving(
        {},
        async (turn, left) => {
          await left
          turn.stream(Readable.from(pieces(20)))
        },
        async ({ state, ask }) => {
          await settles(state, 'completed')
          expect((await ask()).text).toBe([...pieces(20)].join(''))
        },
      ))

    it('I9: amid writes, what is written is stored whole', () =>
      leaving(
        {},
        (turn, left) => {
          turn.raw((res) => res.write('before, '))
          void left.then(() => {
            turn.res.write('after, ')
            setImmediate(() => turn.res.end('end'))
          })
        },
        async ({ state, ask }) => {
          await settles(state, 'completed')
          expect((await ask()).text).toBe('before, after, end')
        },
      ))

    it('I9: amid writes of a length that was told before, the same', () =>
      leaving(
        {},
        (turn, left) => {
          turn.raw((res) => res.writeHead(200, { 'Content-Length': 11 }).write('before, '))
          void left.then(() => {
            turn.res.write('end')
            setImmediate(() => turn.res.end())
          })
        },
        async ({ state, ask }) => {
          await settles(state, 'completed')
          expect((await ask()).text).toBe('before, end')
        },
      ))

    it('I9, I10: an error after that leaves an unknown outcome at once', () =>
      leaving(
        {},
        async (turn, left) => {
          turn.raw((res) => res.write('before, '))
          await left
          throw new Error('after the client had left')
        },
        async ({ state }) => settles(state, 'unknown'),
      ))

    it('I9: amid a stream, the stream goes on to its end and is stored', () =>
      leaving(
        {},
        (turn, left) => {
          const stream = new PassThrough()
          stream.write('before, ')
          turn.stream(stream)
          void left.then(() => stream.end('after'))
        },
        async ({ state, ask }) => {
          await settles(state, 'completed')
          expect((await ask()).text).toBe('before, after')
        },
      ))

    it('I9: amid a pipeline, the same', () =>
      leaving(
        {},
        (turn, left) => {
          const stream = new PassThrough()
          stream.write('before, ')
          turn.raw((res) => pipeline(stream, res, () => {}))
          void left.then(() => stream.end('after'))
        },
        async ({ state, ask }) => {
          await settles(state, 'completed')
          expect((await ask()).text).toBe('before, after')
        },
      ))

    it('I23: amid a stream past the cap that ends normally, a tombstone stays', () =>
      leaving(
        { maxBodyBytes: 10 },
        (turn, left) => {
          const stream = new PassThrough()
          stream.write('more than ten bytes')
          turn.stream(stream)
          void left.then(() => stream.end('and more'))
        },
        async ({ state, ask }) => {
          await settles(state, 'tombstone')
          expect((await ask()).status).toBe(409)
        },
      ))

    it('I7, I23: events stream at once, their writer hears of the close, and a tombstone stays', () =>
      leaving(
        {},
        (turn) => {
          turn.raw((res) => {
            res.writeHead(200, { 'Content-Type': 'text/event-stream' })
            res.write('data: 1\n\n')
            res.on('close', () => res.end())
          })
        },
        async ({ state, ask }) => {
          await settles(state, 'tombstone')
          expect((await ask()).status).toBe(409)
        },
      ))

    it('I9: a stream that dies after that leaves an unknown outcome at once', () =>
      leaving(
        {},
        (turn, left) => {
          const stream = new PassThrough()
          stream.on('error', () => {})
          stream.write('before, ')
          turn.stream(stream)
          void left.then(() => stream.destroy(new Error('died')))
        },
        async ({ state }) => settles(state, 'unknown'),
      ))

    it('I9: the response is closed for its handler once it has ended it', () => {
      const closed: boolean[] = []
      return leaving(
        {},
        (turn, left) => {
          turn.res.on('close', () => closed.push(turn.res.writableEnded && turn.res.destroyed))
          return left.then(() => turn.raw((res) => res.end('late')))
        },
        async ({ state }) => {
          await settles(state, 'completed')
          await eventually(() => expect(closed).toEqual([true]))
        },
      )
    })
  })
})

function* pieces(count: number): Generator<string> {
  for (let index = 0; index < count; index++) yield `${index} ${'x'.repeat(5000)} `
}
