import { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { frameworks } from './idempotency/apps.ts'
import { problemCode } from './idempotency/client.ts'
import { countingOn } from './idempotency/counting.ts'
import { RawClient } from './idempotency/raw-client.ts'

describe.each(frameworks)('in $name', (framework) => {
  const counting = countingOn(framework)

  it.each([
    ['nothing', ''],
    ['an empty string', '""'],
    ['a string that does not end', '"abc'],
    ['256 characters', 'a'.repeat(256)],
    ['256 characters in quotes', `"${'a'.repeat(256)}"`],
    ['a character outside of ASCII', 'caf\u00e9'],
    ['a tab', '"a\tb"'],
    ['an Integer', '42'],
    ['a Decimal', '4.2'],
    ['a Boolean', '?1'],
    ['a Byte Sequence', ':YWJj:'],
    ['a Date', '@1659578233'],
    ['an Inner List', '("a")'],
    ['a List', '"a", "b"'],
    ['two words', 'a b'],
    ['two different fields', ['a', 'b']],
    ['a wrong escape', '"a\\b"'],
  ])('I17: a key that is %s is 400', async (_name, key) => {
    await using app = await counting()
    const answer = await app.ask({ key })
    expect(answer.status).toBe(400)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(answer.text)).toMatchObject({
      type: 'urn:sluice:problem:idempotency-key-invalid',
      title: 'Idempotency key is invalid',
      status: 400,
      detail: expect.any(String),
    })
    expect(app.runs()).toBe(0)
  })

  it('I17: quotes, parameters and a field sent twice name the same key', async () => {
    await using app = await counting()
    const uuid = '8e03978e-40d5-43dd-bc93-6894a57f9324'
    for (const key of [uuid, `"${uuid}"`, `"${uuid}";v=1`, `${uuid}; a="b;c"`, [uuid, `"${uuid}"`]])
      expect((await app.ask({ key })).text).toBe('{"run":1}')
    expect((await app.ask({ key: '"a \\"b\\" \\\\"' })).text).toBe('{"run":2}')
    expect((await app.ask({ key: 'a'.repeat(255) })).text).toBe('{"run":3}')
  })

  it('I17: a request without a key passes, or is 400 where one is required', async () => {
    await using optional = await counting()
    expect((await optional.ask({})).text).toBe('{"run":1}')
    expect((await optional.ask({})).text).toBe('{"run":2}')
    await using needed = await counting({
      required: true,
      documentation: 'https://docs.example/keys',
    })
    const answer = await needed.ask({})
    expect(answer.status).toBe(400)
    expect(problemCode(answer)).toBe('idempotency-key-missing')
    expect(answer.headers['link']).toBe('<https://docs.example/keys>; rel="describedby"')
  })

  it('I18: other methods and safe ones pass untouched, also when they are named', async () => {
    await using app = await counting({ methods: ['POST', 'delete', 'GET', 'HEAD'] })
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
      await app.ask({ method, key: 'k', body: '' })
      await app.ask({ method, key: 'k', body: '' })
    }
    expect(app.runs()).toBe(8)
    await app.ask({ method: 'DELETE', key: 'k', body: '' })
    expect((await app.ask({ method: 'DELETE', key: 'k', body: '' })).text).toBe('{"run":9}')
  })

  it('I18: an Upgrade that the server ignores changes nothing', async () => {
    await using app = await counting()
    const headers = {
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AAMAAABk',
    }
    expect((await app.ask({ key: 'k', headers })).text).toBe('{"run":1}')
    expect((await app.ask({ key: 'k', headers })).text).toBe('{"run":1}')
  })

  it('I18: a request that the server really upgrades passes, with its key', async () => {
    await using app = await counting({
      handler: (turn) => {
        turn.raw((res) => {
          res.writeHead(101, { Connection: 'Upgrade', Upgrade: 'chat' })
          res.flushHeaders()
          res.socket?.end('first words')
        })
      },
    })
    const { server } = app.site
    server.on('upgrade', (request, socket: Socket) => {
      const response = new ServerResponse(request)
      response.assignSocket(socket)
      server.emit('request', request, response)
    })
    for (let run = 1; run <= 2; run++) {
      await using client = await RawClient.to(app.site)
      client.socket.write(
        'POST / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: chat\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n',
      )
      expect(await client.end()).toMatch(/^HTTP\/1.1 101 .*first words$/s)
      expect(app.runs()).toBe(run)
    }
  })

  it('I19: what a client forges changes nothing', async () => {
    await using app = await counting({
      handler: (turn) => turn.json({ marked: turn.req.headers['idempotency-replayed'] }),
    })
    const headers = { 'Idempotency-Replayed': 'true', 'X-Idempotency-Replayed': 'true' }
    const first = await app.ask({ key: 'k', headers })
    expect(first.headers).not.toHaveProperty('idempotency-replayed')
    expect((await app.ask({ key: 'k' })).text).toBe(first.text)
    expect(app.runs()).toBe(1)
  })

  it('I18: CONNECT passes', async () => {
    await using app = await counting({ methods: ['CONNECT', 'POST'] })
    const { port } = new URL(app.site.url)
    app.site.server.once('connect', (_request, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('CONNECT elsewhere:80 HTTP/1.1\r\nHost: elsewhere\r\nIdempotency-Key: k\r\n\r\n')
    const [reply] = await socket.setEncoding('latin1').toArray()
    expect(reply).toMatch(/^HTTP\/1.1 200/)
  })
})
