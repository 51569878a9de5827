import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type LockOptions, lock, memoryStore } from '@sluice/koa'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import { describe, expect, it } from 'vitest'
import { Stage, watcher } from './lock/stage.ts'

describe.each([
  ['Koa 2', Koa2],
  ['Koa 3', Koa3],
])('in %s over HTTP/2', (_name, Koa) => {
  async function serving(
    options: LockOptions,
    use: (
      session: ClientHttp2Session,
      stage: Stage,
      at: ReturnType<typeof watcher>,
    ) => Promise<void>,
  ): Promise<void> {
    const stage = new Stage()
    const store = memoryStore()
    const app = new Koa()
    app.use(lock('k', { store, ...options }))
    app.use(async (ctx) => {
      await stage.work()
      ctx.body = 'done'
    })
    const server = createServer(app.callback())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    try {
      await use(session, stage, watcher(store))
    } finally {
      session.destroy()
      server.close()
    }
  }

  it('L15: refuses with the same fields, and frees the key when the answer is out', () =>
    serving({}, async (session, stage, { isFree }) => {
      const first = ask(session)
      await stage.began()
      expect(await ask(session)).toMatchObject({
        ':status': 423,
        'content-type': 'application/problem+json',
      })
      stage.go()
      expect(await first).toMatchObject({ ':status': 200 })
      await isFree()
    }))

  it('L15: a client that breaks off its request frees nothing under a handler that is at work', () =>
    serving({}, async (session, stage, { isFree }) => {
      const broken = session.request()
      await stage.began()
      broken.close(CANCEL)
      await once(broken, 'close')
      await ask(session)
      expect(await ask(session)).toMatchObject({ ':status': 423 })
      stage.go()
      await isFree()
    }))

  it('L15, L6: a client that breaks off in the line leaves it, and its connection stays', () =>
    serving({ waitMs: 60_000 }, async (session, stage, { hasWaiters, isFree }) => {
      const first = ask(session)
      await stage.began()
      const broken = session.request()
      await hasWaiters(1)
      broken.close(CANCEL)
      await hasWaiters(0)
      stage.go()
      expect(await first).toMatchObject({ ':status': 200 })
      await isFree()
      expect(stage.begun).toBe(1)
    }))
})

/** RST_STREAM's code for a client that no longer wants the answer. */
const CANCEL = 8

/** The fields of the response, once its body is there. */
async function ask(session: ClientHttp2Session): Promise<unknown> {
  const stream = session.request()
  const [fields] = await once(stream, 'response')
  stream.resume()
  await once(stream, 'end')
  return fields
}
