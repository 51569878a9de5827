import { IdempotencyBodyNotCapturedError } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { frameworks } from './idempotency/apps.ts'
import { problemCode } from './idempotency/client.ts'
import { countingOn } from './idempotency/counting.ts'

const basic = (user: string) => ({ Authorization: `Basic ${user}` })

describe.each(frameworks)('in $name', (framework) => {
  const counting = countingOn(framework)

  it.each([
    ['another query', { path: '/?a=2&b=1' }, 422],
    ['the query in another order', { path: '/?b=1&a=1' }, 200],
    ['another path', { path: '/other?a=1&b=1' }, 422],
    ['the same route mounted elsewhere', { path: '/mounted/?a=1&b=1' }, 422],
    ['another method', { method: 'PATCH' }, 422],
    ['its keys in another order', { body: '{"b":[1,2],"a":1.0}' }, 200],
    ['an array in another order', { body: '{"a":1,"b":[2,1]}' }, 422],
    ['another content type', { headers: { 'Content-Type': 'application/vnd.api+json' } }, 422],
  ])('I3: a retry with %s is %s', async (_name, changed, status) => {
    await using app = await counting({
      parse: true,
      handler: (turn) => turn.json({ body: turn.body }),
    })
    const asked = { path: '/?a=1&b=1', key: 'k', body: '{"a":1,"b":[1,2]}' }
    await app.ask(asked)
    const retried = await app.ask({ ...asked, ...changed })
    // A type that the parser does not know leaves its body unread, which is an error of its own.
    if (status === 422 && retried.status === 500) return expect(changed).toHaveProperty('headers')
    expect(retried.status).toBe(status)
  })

  it('I3: what the handler does to the body changes nothing', async () => {
    await using app = await counting({
      handler: (turn) => {
        Object.assign(turn.body as object, { changed: true })
        turn.json({})
      },
    })
    await app.ask({ key: 'k' })
    expect((await app.ask({ key: 'k' })).status).toBe(200)
  })

  it('I3: a body that nobody read goes to the error handler, and says which parser to add', async () => {
    await using app = await counting({ parse: false })
    const answer = await app.ask({ key: 'k' })
    expect(answer.status).toBe(500)
    const [error] = app.errors
    expect(error).toBeInstanceOf(IdempotencyBodyNotCapturedError)
    expect(error).toMatchObject({
      code: 'idempotency-body-not-captured',
      status: 500,
      message: expect.stringContaining(
        framework.family === 'koa' ? 'koa-bodyparser' : 'express.json()',
      ),
    })
    const headers = { 'Content-Type': 'text/csv', 'Transfer-Encoding': 'chunked' }
    await app.ask({ key: 'k', headers, body: 'a,b' })
    expect(app.errors).toHaveLength(2)
    expect(app.runs()).toBe(0)
    expect(
      (await app.ask({ key: 'k', body: '' })).text,
      'without a body there is nothing to read',
    ).toBe('{"run":1}')
  })

  it('I3: chunks without content are no body', async () => {
    await using app = await counting({ parse: false })
    const headers = { 'Transfer-Encoding': 'chunked' }
    expect((await app.ask({ key: 'k', headers, body: '' })).text).toBe('{"run":1}')
    expect((await app.ask({ key: 'k', body: '' })).text).toBe('{"run":1}')
  })

  it('I3: integers beyond 2^53 do not collide where raw bytes are kept', async () => {
    await using app = await counting({
      parse: false,
      outer: async (turn) => {
        const chunks: Buffer[] = []
        for await (const chunk of turn.req) chunks.push(chunk as Buffer)
        turn.keepRaw(Buffer.concat(chunks))
      },
    })
    await app.ask({ key: 'k', body: '{"id":9007199254740993}' })
    expect((await app.ask({ key: 'k', body: '{"id":9007199254740992}' })).status).toBe(422)
    expect((await app.ask({ key: 'k', body: ' {"id": 9007199254740993.0}' })).status).toBe(200)
  })

  it.each([
    ['"1"', '"1.0"'],
    ['"{}"', '"{ }"'],
    ['null', '{}'],
    ['1e400', 'null'],
    ['""', '{}'],
    ['0', 'false'],
  ])('I3: the bodies %s and %s are told apart', async (one, other) => {
    await using app = await counting()
    expect((await app.ask({ key: 'k', body: one })).status).toBe(200)
    expect((await app.ask({ key: 'k', body: other })).status).toBe(422)
    expect((await app.ask({ key: 'k', body: one })).text).toBe('{"run":1}')
  })

  it('I3: an own fingerprint replaces query and body, not the path', async () => {
    await using app = await counting({ fingerprint: () => 'always the same' })
    await app.ask({ key: 'k', path: '/?a=1', body: '{"a":1}' })
    expect((await app.ask({ key: 'k', path: '/?a=2', body: '{"a":2}' })).status).toBe(200)
    expect((await app.ask({ key: 'k', path: '/b' })).status).toBe(422)
  })

  it('I3: a body that is nested too deeply is no error of the server', async () => {
    await using app = await counting()
    const answer = await app.ask({ key: 'k', body: `${'['.repeat(20_000)}${']'.repeat(20_000)}` })
    // Koa's parser keeps the text, so that it counts byte by byte.
    expect(answer.status).toBe(framework.family === 'koa' ? 200 : 400)
    expect(app.errors).toEqual([])
  })

  it('I4: records of different scopes never meet', async () => {
    await using app = await counting({ scope: (turn) => String(turn.req.headers['x-user']) })
    expect((await app.ask({ key: 'k', headers: { 'X-User': 'ann' } })).text).toBe('{"run":1}')
    expect((await app.ask({ key: 'k', headers: { 'X-User': 'bob' } })).text).toBe('{"run":2}')
    expect((await app.ask({ key: 'k', headers: { 'X-User': 'ann', ...basic('new') } })).text).toBe(
      '{"run":1}',
    )
  })

  it('I4: without a scope, another caller gets neither the response nor a run', async () => {
    await using app = await counting()
    await app.ask({ key: 'k', headers: basic('ann') })
    for (const headers of [basic('bob'), {}]) {
      const answer = await app.ask({ key: 'k', headers })
      expect(answer.status).toBe(422)
      expect(problemCode(answer)).toBe('idempotency-key-scope')
      expect(JSON.parse(answer.text).detail).toContain('`scope`')
    }
    expect((await app.ask({ key: 'k', headers: basic('ann') })).text).toBe('{"run":1}')
    expect(app.runs()).toBe(1)
  })

  it('I4: a scope that is no string is an error, not everybody’s', async () => {
    await using app = await counting({ scope: () => undefined as unknown as string })
    expect((await app.ask({ key: 'k' })).status).toBe(500)
    expect(app.errors).toMatchObject([{ code: 'configuration', option: 'scope' }])
    expect(app.runs()).toBe(0)
  })
})
