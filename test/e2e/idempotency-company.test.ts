import { Readable } from 'node:stream'
import * as onExpress from '@sluice/express'
import compression from 'compression'
import express5, { type RequestHandler, type Response } from 'express'
import express4 from 'express4'
import multer from 'multer'
import { describe, expect, it } from 'vitest'
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

  it.each([
    ['text/csv', 'a,b'],
    [
      'multipart/form-data; boundary=x',
      `--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n${'a'.repeat(50)}\r\n--x--\r\n`,
    ],
  ])(
    'I3: a body (%s) that somebody has read and kept to himself is not taken as empty',
    async (type, body) => {
      const app = express()
      app.use(express.json())
      app.post(
        '/',
        async (req, _res, next) => {
          for await (const _chunk of req);
          next()
        },
        onExpress.idempotency({ store: onExpress.memoryStore() }),
        (_req, res) => void res.json({}),
      )
      app.use((error: unknown, _req: unknown, res: Response, _next: unknown) => {
        res.status(500).end(String(Reflect.get(error as object, 'code')))
      })
      await using site = await Site.serve(app as App)
      const answer = await post(site, { key: 'k', body, headers: { 'Content-Type': type } })
      expect(answer).toMatchObject({ status: 500, text: 'idempotency-body-not-captured' })
    },
  )

  it('I3: an empty form is a form', async () => {
    const app = express()
    app.post(
      '/',
      multer().none(),
      onExpress.idempotency({ store: onExpress.memoryStore() }),
      (_req, res) => void res.json({}),
    )
    await using site = await Site.serve(app as App)
    for (const boundary of ['x', 'y'.repeat(70)]) {
      const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
      const answer = await post(site, { key: 'k', body: `--${boundary}--\r\n`, headers })
      expect(answer.status).toBe(200)
    }
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
