import { createIdempotency, memoryStore } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { frameworks } from './idempotency/apps.ts'
import { essence, problemCode } from './idempotency/client.ts'
import { countingOn } from './idempotency/counting.ts'
import { slowStore } from './idempotency/slow-store.ts'

describe.each(frameworks)('in $name', (framework) => {
  const counting = countingOn(framework)

  it('I5: what outer middleware has set wins, Vary is what both say, cookies are not stored', async () => {
    let requests = 0
    await using app = await counting({
      outer: (turn) => {
        turn.set('X-Request-Id', String(++requests))
        turn.set('Vary', 'Origin')
      },
      handler: (turn) => {
        turn.set('Vary', 'Origin, Accept')
        turn.set('Set-Cookie', ['a=1', 'b=2'])
        turn.json({})
      },
    })
    const first = await app.ask({ key: 'k' })
    expect(first.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    const replay = await app.ask({ key: 'k' })
    expect(replay.headers).toMatchObject({ 'x-request-id': '2', vary: 'Origin, Accept' })
    expect(replay.headers).not.toHaveProperty('set-cookie')
    await using keeping = await counting({
      replaySetCookie: true,
      handler: (turn) => {
        turn.set('Set-Cookie', ['a=1', 'b=2'])
        turn.json({})
      },
    })
    await keeping.ask({ key: 'k' })
    expect((await keeping.ask({ key: 'k' })).headers['set-cookie']).toEqual(['a=1', 'b=2'])
  })

  it('I5: fields of the connection and the date are those of the replay', async () => {
    await using app = await counting({
      handler: (turn) => {
        turn.set('Date', 'Thu, 01 Jan 1970 00:00:00 GMT')
        turn.set('Connection', 'close, X-Hop')
        turn.set('X-Hop', 'of the first connection')
        turn.set('Keep-Alive', 'timeout=77')
        turn.set('Idempotency-Replayed', 'false')
        turn.set('X-End', 'of the content')
        turn.json({})
      },
    })
    const first = await app.ask({ key: 'k' })
    expect(first.headers).toMatchObject({
      'x-hop': 'of the first connection',
      'x-end': 'of the content',
    })
    const { headers } = await app.ask({ key: 'k' })
    expect(headers).toMatchObject({ 'x-end': 'of the content', 'idempotency-replayed': 'true' })
    expect(headers).not.toHaveProperty('x-hop')
    expect(headers['keep-alive']).not.toBe('timeout=77')
    expect(Math.abs(Date.now() - Date.parse(String(headers.date)))).toBeLessThan(10_000)
  })

  it('I21: what decides about a replay may fail, and then nothing is sent or run', async () => {
    await using app = await counting({
      authorizeReplay: () => {
        throw new Error('nobody knows')
      },
    })
    await app.ask({ key: 'k' })
    const answer = await app.ask({ key: 'k' })
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain('"run"')
    expect(app.runs()).toBe(1)
    expect(app.errors).toMatchObject([{ message: 'nobody knows' }])
  })

  it('I5: what is said of the stored bytes is replayed, also where outer middleware says something else', async () => {
    await using app = await counting({
      outer: (turn) => {
        turn.set('Content-Type', 'application/json')
        turn.set('Content-Language', 'en')
        turn.set('Cache-Control', 'no-store')
      },
      handler: (turn) => {
        turn.set('Content-Type', 'text/csv')
        turn.set('Content-Language', 'de')
        turn.bytes('a;b')
      },
    })
    const first = await app.ask({ key: 'k' })
    const replay = await app.ask({ key: 'k' })
    expect(first.headers['content-type']).toMatch(/^text\/csv/)
    expect(essence(replay)).toEqual(essence(first))
  })

  it.each([
    [408, 'replay', 2],
    [425, 'replay', 2],
    [429, 'replay', 2],
    [400, 'replay', 1],
    [500, 'replay', 1],
    [503, 'replay', 1],
    [503, 'release', 2],
    [404, 'release', 1],
  ] as const)(
    'I10: status %i with onServerError %s: %i runs',
    async (status, onServerError, runs) => {
      await using app = await counting({
        onServerError,
        handler: (turn) => {
          turn.status(status)
          turn.json({})
        },
      })
      await app.ask({ key: 'k' })
      await app.ask({ key: 'k' })
      expect(app.runs()).toBe(runs)
    },
  )

  it('I10: release() lets a retry run; after the head went out it throws', async () => {
    await using app = await counting({
      handler: async (turn) => {
        await turn.idempotency?.release()
        turn.json({})
      },
    })
    await app.ask({ key: 'k' })
    await app.ask({ key: 'k' })
    expect(app.runs()).toBe(2)
    const failures: unknown[] = []
    await using tooLate = await counting({
      handler: async (turn) => {
        turn.raw((res) => res.write('begun'))
        await turn.idempotency?.release().catch((error: unknown) => failures.push(error))
        turn.raw((res) => res.end())
      },
    })
    await tooLate.ask({ key: 'k' })
    expect(failures).toMatchObject([{ code: 'release-too-late' }])
    expect((await tooLate.ask({ key: 'k' })).text).toBe('begun')
  })

  it('I11: handlers find the key, the attempt, a fence that rises and a signal', async () => {
    const found: unknown[] = []
    await using app = await counting({
      onUnknown: 'rerun',
      handler: (turn) => {
        const { key, attempt, fence, signal } = turn.idempotency ?? {}
        found.push({ key, attempt, fence, aborted: signal?.aborted })
        turn.raw((res) => (attempt === 1 ? res.destroy() : res.end()))
      },
    })
    await app.ask({ key: 'k' }).catch(() => {})
    await app.ask({ key: 'k' })
    const [first, second] = found as { fence: number }[]
    expect(first).toMatchObject({ key: 'k', attempt: 1, aborted: false })
    expect(second).toMatchObject({ key: 'k', attempt: 2, aborted: false })
    expect(second?.fence).toBeGreaterThan(first?.fence ?? 0)
  })

  it('I11: what an operator confirmed is replayed', async () => {
    await using app = await counting({ handler: (turn) => turn.raw((res) => res.destroy()) })
    await app.ask({ key: 'k' }).catch(() => {})
    expect(problemCode(await app.ask({ key: 'k' }))).toBe('idempotency-outcome-unknown')
    const operator = createIdempotency({ store: app.store })
    await operator.confirm('k', { status: 201, headers: [['Location', '/7']], body: 'made' })
    expect(await app.ask({ key: 'k' })).toMatchObject({ status: 201, text: 'made' })
    expect(app.runs()).toBe(1)
  })

  it('I21: a replay can be refused', async () => {
    await using app = await counting({
      authorizeReplay: (turn) => turn.req.headers['x-may'] === 'yes',
    })
    await app.ask({ key: 'k' })
    const refused = await app.ask({ key: 'k' })
    expect(refused.status).toBe(403)
    expect(problemCode(refused)).toBe('idempotency-replay-refused')
    expect((await app.ask({ key: 'k', headers: { 'X-May': 'yes' } })).text).toBe('{"run":1}')
  })

  it('I20: a full memory store refuses new keys with 503, and forgets none', async () => {
    await using app = await counting({ store: memoryStore({ maxKeys: 1 }) })
    await app.ask({ key: 'one' })
    const refused = await app.ask({ key: 'two' })
    expect(refused.status).toBe(503)
    expect(problemCode(refused)).toBe('store-unavailable')
    expect((await app.ask({ key: 'one' })).text).toBe('{"run":1}')
  })

  it('I10: after release(), nothing is settled any more', async () => {
    const watched = slowStore()
    watched.go()
    await using app = await counting({
      store: watched.store,
      handler: async (turn) => {
        await turn.idempotency?.release()
        turn.json({})
      },
    })
    await app.ask({ key: 'k' })
    expect(watched.settlements).toEqual(['absent'])
  })
})
