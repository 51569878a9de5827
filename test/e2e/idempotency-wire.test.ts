import { Readable } from 'node:stream'
import { memoryStore } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { frameworks } from './idempotency/apps.ts'
import { post } from './idempotency/client.ts'
import { RawClient } from './idempotency/raw-client.ts'
import { slowStore } from './idempotency/slow-store.ts'
import { type Handler, rawly } from './idempotency/turns.ts'
import { ways } from './idempotency/ways.ts'

describe.each(frameworks)('on the wire of $name', (framework) => {
  it.each(ways)(
    'I7: the first response of $name is what it would be without protection, byte for byte',
    async ({ answer }) => {
      await using app = await framework.serve({ store: memoryStore(), handler: answer })
      await using plain = await RawClient.to(app.site)
      await using guarded = await RawClient.to(app.site)
      plain.post(undefined)
      guarded.post('k')
      expect(undated(await guarded.end())).toBe(undated(await plain.end()))
    },
  )

  it.each<[string, Handler, string]>([
    ['end(text)', (turn) => turn.bytes('all of it'), ''],
    [
      'a length complete before end()',
      rawly((res) => {
        res.setHeader('Content-Length', 9)
        res.write('all ')
        res.write('of it')
      }),
      'all ',
    ],
    ['a stream', (turn) => turn.stream(Readable.from(['all ', 'of it'])), 'all of it'],
    ['204', (turn) => turn.empty(204), ''],
    [
      'flushed headers of an empty body',
      rawly((res) => {
        res.setHeader('Content-Length', 0)
        res.flushHeaders()
      }),
      '',
    ],
  ])('I8: the last bytes of %s wait until the record is durable', async (_name, handler, early) => {
    const slow = slowStore()
    await using app = await framework.serve({ store: slow.store, handler })
    await using client = await RawClient.to(app.site)
    const asked = slow.asked()
    client.post('k')
    await asked
    await eventually(() => expect(content(client.received)).toBe(early))
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(content(client.received)).toBe(early)
    expect(client.received).not.toMatch(/\r\n0\r\n\r\n$/)
    expect(client.socket.closed).toBe(false)
    slow.go()
    await eventually(() => expect(client.received).toMatch(/^HTTP\/1.1 20[04] /))
    await eventually(() =>
      expect(content(client.received)).toBe(
        _name.startsWith('204') || _name.startsWith('flushed') ? '' : 'all of it',
      ),
    )
  })

  it('I7: callbacks of writes and of the end are called, as without protection', async () => {
    const called: string[] = []
    await using app = await framework.serve({
      store: memoryStore(),
      handler: rawly((res) => {
        res.setHeader('Content-Length', 7)
        res.write('one ', () => {
          called.push('one')
          res.write('two', () => {
            called.push('two')
            res.end(() => called.push('end'))
          })
        })
      }),
    })
    expect((await post(app.site, { key: 'k' })).text).toBe('one two')
    await eventually(() => expect(called).toEqual(['one', 'two', 'end']))
  })

  it('I7: an HTTP/1.0 client, and one that waits for 100 Continue, get what they would get', async () => {
    await using app = await framework.serve({
      store: memoryStore(),
      handler: (turn) => turn.stream(Readable.from(['one ', 'two'])),
    })
    const head = 'Host: test\r\nContent-Type: application/json\r\nContent-Length: 2\r\n'
    for (const [version, extra] of [
      ['1.0', ''],
      ['1.1', 'Connection: close\r\nExpect: 100-continue\r\n'],
    ]) {
      const received: string[] = []
      for (const key of ['', `Idempotency-Key: v${version}\r\n`]) {
        await using client = await RawClient.to(app.site)
        client.socket.write(`POST / HTTP/${version}\r\n${key}${head}${extra}\r\n`)
        if (extra) await eventually(() => expect(client.received).toMatch(/100 Continue/))
        client.socket.write('{}')
        received.push(undated(await client.end()))
      }
      expect(received[1]).toBe(received[0])
      expect(received[1]).toContain('two')
      const replay = await post(app.site, { key: `v${version}`, body: '{}' })
      expect(replay).toMatchObject({ status: 200, text: 'one two' })
    }
  })

  it('I8: meanwhile the response looks ended, and a second answer does not win', async () => {
    const slow = slowStore()
    let seen: unknown
    await using app = await framework.serve({
      store: slow.store,
      handler: rawly((res) => {
        res.on('error', () => {})
        res.statusCode = 201
        res.end('first')
        const attempt = (run: () => unknown) => {
          try {
            run()
            return 'fine'
          } catch (error) {
            return error instanceof Error && Reflect.get(error, 'code')
          }
        }
        res.statusCode = 500
        seen = {
          headersSent: res.headersSent,
          writableEnded: res.writableEnded,
          setHeader: attempt(() => res.setHeader('X-Late', '1')),
          writeHead: attempt(() => res.writeHead(500)),
          end: attempt(() => res.end('second')),
        }
      }),
    })
    const asked = slow.asked()
    const first = post(app.site, { key: 'k' })
    await asked
    slow.go()
    expect(await first).toMatchObject({ status: 201, text: 'first' })
    expect(seen).toEqual({
      headersSent: true,
      writableEnded: true,
      setHeader: 'ERR_HTTP_HEADERS_SENT',
      writeHead: 'ERR_HTTP_HEADERS_SENT',
      end: 'fine',
    })
    expect(await post(app.site, { key: 'k' })).toMatchObject({ status: 201, text: 'first' })
  })

  it('I7, I8: a handler that fails after it answered does not take its answer from the client', async () => {
    const slow = slowStore()
    await using app = await framework.serve({
      store: slow.store,
      handler: async (turn) => {
        turn.raw((res) => res.end('answered'))
        throw new Error('failed after that')
      },
    })
    const asked = slow.asked()
    const first = post(app.site, { key: 'k' })
    await asked
    await new Promise((resolve) => setTimeout(resolve, 20))
    slow.go()
    expect(await first).toMatchObject({ status: 200, text: 'answered' })
    expect(await post(app.site, { key: 'k' })).toMatchObject({ status: 200, text: 'answered' })
  })

  it('I5: two requests on one connection, sent together, get their own answers and their own replays', async () => {
    let runs = 0
    await using app = await framework.serve({
      store: memoryStore(),
      handler: async (turn) => {
        const run = ++runs
        await new Promise((resolve) => setTimeout(resolve, run === 1 ? 20 : 0))
        turn.bytes(`run ${turn.path}`)
      },
    })
    for (let round = 0; round < 2; round++) {
      await using client = await RawClient.to(app.site)
      client.post('one', '/one', 'keep-alive')
      client.post('two', '/two', 'close')
      const received = await client.end()
      expect(received.match(/run \/(one|two)/g)).toEqual(['run /one', 'run /two'])
    }
    expect(runs).toBe(2)
  })
})

function undated(response: string): string {
  return response.replace(/^Date: .*$/im, 'Date: now')
}

/** The body behind any chunks. */
function content(response: string): string {
  const [head = '', ...rest] = response.split('\r\n\r\n')
  const body = rest.join('\r\n\r\n')
  if (!/transfer-encoding: chunked/i.test(head)) return body
  return [...body.matchAll(/(?:^|\r\n)[1-9a-f][0-9a-f]*\r\n([^\r]*)/gi)]
    .map(([, text]) => text)
    .join('')
}
