import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2Server,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import * as onExpress from '@sluice/express'
import * as onKoa from '@sluice/koa'
import compression from 'compression'
import express5, { type RequestHandler, type Response } from 'express'
import express4 from 'express4'
import Koa3, { type Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import Koa2 from 'koa2'
import multer from 'multer'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type App, Site } from '../support/http.ts'
import { post } from './idempotency/client.ts'
import { slowStore } from './idempotency/slow-store.ts'

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('in %s', (_name, express) => {
  it('I3: uploads through multer are compared by their files, whatever the boundary', async () => {
    const app = express()
    let runs = 0
    app.post(
      '/',
      multer({ storage: multer.memoryStorage() }).any(),
      onExpress.idempotency({ store: onExpress.memoryStore() }),
      (_req, res) => void res.json({ run: ++runs }),
    )
    await using site = await Site.serve(app as App)
    const upload = (boundary: string, file: string) =>
      post(site, {
        key: 'k',
        headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
        body:
          `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${boundary}\r\n` +
          `Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n${file}\r\n--${boundary}--\r\n`,
      })
    expect((await upload('one', 'content')).text).toBe('{"run":1}')
    expect((await upload('two', 'content')).text).toBe('{"run":1}')
    expect((await upload('three', 'changed')).status).toBe(422)
  })

  it('I3: a body of a type that the parser passes by is not taken as empty', async () => {
    const app = express()
    const errors: unknown[] = []
    app.use(express.json(), express.urlencoded({ extended: false }))
    app.post(
      '/',
      onExpress.idempotency({ store: onExpress.memoryStore() }),
      (_req, res) => void res.json({}),
    )
    app.use((error: unknown, _req: unknown, res: Response, _next: unknown) => {
      errors.push(error)
      res.status(500).end()
    })
    await using site = await Site.serve(app as App)
    await post(site, { key: 'k', body: 'a,b', headers: { 'Content-Type': 'text/csv' } })
    expect(errors).toMatchObject([
      { code: 'idempotency-body-not-captured', message: expect.stringContaining('express.text()') },
    ])
    const empty = await post(site, { key: 'j', body: '{}' })
    expect(empty.status).toBe(200)
    expect((await post(site, { key: 'j', body: '{"a":1}' })).status).toBe(422)
  })

  it('I5: fields that middleware inside adds when the head is written are replayed, those of outside are set anew', async () => {
    const app = express()
    let requests = 0
    const onHead =
      (name: string): RequestHandler =>
      (_req, res, next) => {
        const request = ++requests
        const { writeHead } = res
        res.writeHead = (...args: unknown[]) => {
          if (!res.headersSent) res.setHeader(name, String(request))
          return Reflect.apply(writeHead, res, args)
        }
        next()
      }
    app.use(express.json())
    app.post(
      '/',
      onHead('X-Outside'),
      onExpress.idempotency({ store: onExpress.memoryStore() }),
      onHead('X-Inside'),
      (_req, res) => void res.json({}),
    )
    await using site = await Site.serve(app as App)
    const first = await post(site, { key: 'k' })
    expect(first.headers).toMatchObject({ 'x-outside': '1', 'x-inside': '2' })
    const replay = await post(site, { key: 'k' })
    expect(replay.headers).toMatchObject({ 'x-outside': '3', 'x-inside': '2' })
  })

  it('I5: what cannot be sent throws to the handler at once, and the error handler answers', async () => {
    const app = express()
    app.use(express.json())
    app.post('/', onExpress.idempotency({ store: onExpress.memoryStore() }), (_req, res) => {
      res.statusCode = 1000
      res.end('x')
    })
    app.use(
      (_error: unknown, _req: unknown, res: Response, _next: unknown) =>
        void res.status(502).end('caught'),
    )
    await using site = await Site.serve(app as App)
    for (let round = 0; round < 2; round++)
      expect(await post(site, { key: 'k' })).toMatchObject({ status: 502, text: 'caught' })
  })

  it('I7: a compressing middleware outside may write while the last bytes wait', async () => {
    const slow = slowStore()
    const app = express()
    app.use(compression({ threshold: 0 }), express.json())
    app.post('/', onExpress.idempotency({ store: slow.store }), (_req, res) => {
      Readable.from(['one ', 'two']).pipe(res.type('txt'))
    })
    await using site = await Site.serve(app as App)
    const asked = slow.asked()
    const first = post(site, { key: 'k', headers: { 'Accept-Encoding': 'gzip' } })
    await asked
    await new Promise((resolve) => setTimeout(resolve, 50))
    slow.go()
    expect(await first).toMatchObject({ status: 200, text: 'one two' })
  })

  it('I1: a second idempotency() on the way leaves the request to the first', async () => {
    const app = express()
    let runs = 0
    const store = onExpress.memoryStore()
    app.use(express.json(), onExpress.idempotency({ store }))
    app.post('/', onExpress.idempotency({ store }), (_req, res) => void res.json({ run: ++runs }))
    await using site = await Site.serve(app as App)
    for (let round = 0; round < 2; round++)
      expect((await post(site, { key: 'k' })).text).toBe('{"run":1}')
  })
})

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
    app.use(onKoa.idempotency({ store: onKoa.memoryStore() }))
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
