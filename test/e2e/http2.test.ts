import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import {
  createRateLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  subscribe,
} from '@sluice/koa'
import Koa3, { type Context } from 'koa'
import Koa2 from 'koa2'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'

const three = fixedWindow({ name: 'three', limit: 3, windowMs: 60_000 })

describe.each([
  ['Koa 2', Koa2],
  ['Koa 3', Koa3],
])('in %s over HTTP/2', (_name, Koa) => {
  async function serving(
    options: RateLimitOptions,
    answer: (ctx: Context) => string | Promise<string>,
    use: (session: ClientHttp2Session) => Promise<void>,
  ): Promise<void> {
    const app = new Koa()
    app.use(rateLimit({ key: () => 'ann', ...options }))
    app.use(async (ctx) => {
      ctx.body = await answer(ctx)
    })
    const server = createServer(app.callback())
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

  it('R20, R22: fields and refusals are the same', () =>
    serving(
      { policy: fixedWindow({ limit: 1, windowMs: 1000 }) },
      () => 'welcome',
      async (session) => {
        expect(await ask(session, '/')).toMatchObject({ ':status': 200 })
        expect(await ask(session, '/')).toMatchObject({
          ':status': 429,
          'content-type': 'application/problem+json',
          'ratelimit-policy': '"fixed-window";q=1;w=1',
          'retry-after': '1',
        })
      },
    ))

  it('R25: refund is asked after a whole answer, not for one that the client broke off', async () => {
    const store = memoryStore()
    const asked: string[] = []
    const refund = (ctx: Context) => {
      asked.push(ctx.path)
      return true
    }
    const answer = (ctx: Context) => (ctx.path === '/leaves' ? LONG : 'welcome')
    await serving({ name: 'logins', policy: three, store, refund }, answer, async (session) => {
      const broken = session.request({ ':path': '/leaves' })
      await once(broken, 'response')
      broken.close(CANCEL)
      await once(broken, 'close')
      await ask(session, '/stays')
      await eventually(() => expect(asked).toEqual(['/stays']))
      const limiter = createRateLimiter({ name: 'logins', policy: three, store })
      await eventually(async () => expect((await limiter.peek('ann')).remaining).toBe(2))
    })
  })

  it('R26: a request whose client broke off in the line does not get to its handler', async () => {
    const served: string[] = []
    let decided = 0
    const stop = subscribe('sluice:rate-limit', () => decided++)
    const policy = leakyBucket({ capacity: 2, drain: 1, drainMs: 600 })
    const answer = (ctx: Context) => {
      served.push(ctx.path)
      return 'your turn'
    }
    await serving({ policy }, answer, async (session) => {
      await ask(session, '/first')
      const leaving = session.request({ ':path': '/leaves' })
      await eventually(() => decided === 2)
      const last = ask(session, '/last')
      await eventually(() => decided === 3)
      leaving.close(CANCEL)
      expect(await last).toMatchObject({ ':status': 200 })
      expect(served).toEqual(['/first', '/last'])
    })
    stop()
  })
})

/** RST_STREAM's code for a client that no longer wants the answer. */
const CANCEL = 8

/** More than the window of a stream. */
const LONG = 'x'.repeat(1024 * 1024)

/** The fields of the response, once its body is there. */
async function ask(session: ClientHttp2Session, path: string): Promise<unknown> {
  const stream = session.request({ ':path': path })
  const [fields] = await once(stream, 'response')
  stream.resume()
  await once(stream, 'end')
  return fields
}
