import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2Server,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { idempotency, memoryStore } from '@sluice/koa'
import Koa3, { type Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import Koa2 from 'koa2'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'

describe.each([
  ['Koa 2', Koa2],
  ['Koa 3', Koa3],
])('in %s over HTTP/2', (_name, Koa) => {
  async function serving(
    handler: (ctx: Context) => unknown,
    use: (session: ClientHttp2Session) => Promise<void>,
  ) {
    const app = new Koa()
    app.silent = true
    app.use(bodyParser())
    app.use(idempotency({ store: memoryStore() }))
    app.use(async (ctx) => {
      await handler(ctx)
    })
    const server = createHttp2Server(app.callback())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    try {
      await use(session)
    } finally {
      session.destroy()
      server.close()
    }
  }

  it('I5, I22: answers are replayed the same', () =>
    serving(
      (ctx) => {
        ctx.status = 201
        ctx.set('Location', '/7')
        ctx.body = { id: 7 }
      },
      async (session) => {
        const first = await ask(session)
        const replay = await ask(session)
        expect(first).toMatchObject({ ':status': 201, location: '/7', text: '{"id":7}' })
        expect(replay).toMatchObject({
          ...first,
          date: expect.any(String),
          'idempotency-replayed': 'true',
        })
      },
    ))

  it.each<[string, (ctx: Context, left: Promise<unknown>) => unknown, string]>([
    [
      'before the answer',
      async (ctx, left) => {
        await left
        ctx.status = 201
        ctx.body = 'after all'
      },
      'after all',
    ],
    [
      'amid writes',
      async (ctx, left) => {
        ctx.respond = false
        ctx.res.statusCode = 201
        ctx.res.write('before, ')
        await left
        ctx.res.write('after')
        ctx.res.end()
      },
      'before, after',
    ],
    [
      'amid a stream',
      (ctx, left) => {
        const stream = new PassThrough()
        stream.write('before, ')
        void left.then(() => stream.end('after'))
        ctx.status = 201
        ctx.body = stream
      },
      'before, after',
    ],
    [
      'amid a stream that waits for room',
      (ctx) => {
        ctx.status = 201
        ctx.body = Readable.from(Array.from({ length: 50 }, () => Buffer.alloc(10_000, 'x')))
      },
      'x'.repeat(500_000),
    ],
  ])('I9: a client that breaks off %s gets it all in its retry', async (_at, handler, text) => {
    let runs = 0
    let closes = 0
    await serving(
      (ctx) => {
        runs++
        const { stream } = ctx.res as unknown as Http2ServerResponse
        ctx.res.once('close', () => closes++)
        return handler(ctx, once(stream, 'close'))
      },
      async (session) => {
        const broken = session.request({ ':method': 'POST', 'idempotency-key': 'k' })
        broken.on('error', () => {})
        broken.end()
        while (runs === 0) await new Promise(setImmediate)
        await new Promise((resolve) => setTimeout(resolve, 20))
        broken.close(8)
        await once(broken, 'close')
        await eventually(async () =>
          expect(await ask(session, '')).toMatchObject({ ':status': 201, text }),
        )
        expect(runs).toBe(1)
        expect(closes, 'told when the handler has ended its response').toBe(1)
      },
    )
  })
})

async function ask(
  session: ClientHttp2Session,
  body = '{"a":1}',
): Promise<Record<string, unknown>> {
  const stream = session.request({
    ':method': 'POST',
    'idempotency-key': 'k',
    ...(body && { 'content-type': 'application/json' }),
  })
  stream.end(body)
  const [fields] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return { ...fields, text }
}
