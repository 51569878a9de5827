import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type AppOptions,
  type Compression,
  frameworks,
  type ServedSite,
} from './idempotency/apps.ts'
import { essence, post } from './idempotency/client.ts'
import { backends, type OpenStore } from './idempotency/stores.ts'
import { ways } from './idempotency/ways.ts'

const compressions: readonly Compression[] = ['absent', 'before', 'after']

const matrix = frameworks.flatMap((framework) =>
  backends.flatMap((backend) =>
    compressions.map((compression) => ({ framework, backend, compression })),
  ),
)

describe.each(matrix)(
  '$framework.name on $backend.name, compression $compression',
  ({ framework, backend, compression }) => {
    let open: OpenStore
    let app: ServedSite | undefined
    let runs = 0
    /** What a compressing middleware decides anew for each response, and not at all for raw ones and errors of Koa. */
    const perClient = compression === 'absent' ? [] : ['content-encoding', 'vary']

    beforeEach(() => {
      open = backend.open()
      runs = 0
    })

    afterEach(async () => {
      await app?.[Symbol.asyncDispose]()
      await open[Symbol.asyncDispose]()
    })

    async function serve({ handler, ...options }: AppOptions): Promise<ServedSite> {
      app = await framework.serve({
        store: open.store,
        compression,
        ...options,
        handler: (turn) => {
          runs++
          return handler(turn)
        },
      })
      return app
    }

    it.each(ways)('I5: the replay of $name is exact', async ({ answer, content }) => {
      const { site, errors } = await serve({ handler: (turn) => answer(turn) })
      const headers = { 'Accept-Encoding': 'gzip' }
      const first = await post(site, { key: 'k', headers })
      const replay = await post(site, { key: 'k', headers })
      expect(first.text).toEqual(
        typeof content === 'string' ? content : expect.stringMatching(content),
      )
      expect(essence(replay, ...perClient)).toEqual(essence(first, ...perClient))
      expect(first.headers).not.toHaveProperty('idempotency-replayed')
      expect(replay.headers['idempotency-replayed']).toBe('true')
      expect(runs).toBe(1)
      expect(errors).toEqual([])
    })

    it.each([
      ['gzip', 'br'],
      ['br', 'gzip'],
      ['gzip', undefined],
      ['br', 'identity'],
      ['deflate', 'gzip;q=0, *;q=0.5'],
      [undefined, 'gzip'],
    ])('I6: first Accept-Encoding %s, then %s', async (before, after) => {
      const { site } = await serve({ handler: (turn) => turn.json({ text: LONG }) })
      const accepting = (codings: string | undefined): Record<string, string> =>
        codings === undefined ? {} : { 'Accept-Encoding': codings }
      const first = await post(site, { key: 'k', headers: accepting(before) })
      const replay = await post(site, { key: 'k', headers: accepting(after) })
      if (compression !== 'absent' && before) expect(first.headers['content-encoding']).toBe(before)
      expect(replay.text).toBe(JSON.stringify({ text: LONG }))
      expect(replay.text).toBe(first.text)
      const coding = replay.headers['content-encoding']
      if (after === undefined || after === 'identity') expect(coding).toBeUndefined()
      if (after === 'gzip;q=0, *;q=0.5') expect(coding).not.toBe('gzip')
      expect(runs).toBe(1)
    })

    it('I1, I15: fifty copies at once run the handler once, and all get its response', async () => {
      const { site } = await serve({
        onConcurrent: { waitMs: 10_000 },
        handler: async (turn) => {
          await new Promise((resolve) => setTimeout(resolve, 50))
          turn.json({ run: runs })
        },
      })
      const copies = await Promise.all(Array.from({ length: 50 }, () => post(site, { key: 'k' })))
      expect(new Set(copies.map(({ status, text }) => `${status} ${text}`))).toEqual(
        new Set(['200 {"run":1}']),
      )
      expect(copies.filter(({ headers }) => headers['idempotency-replayed'])).toHaveLength(49)
      expect(runs).toBe(1)
    })

    it('I15: a copy of what is running gets 409 with Retry-After', async () => {
      const gate = new EventEmitter()
      const { site } = await serve({
        handler: async (turn) => {
          await once(gate, 'finish')
          turn.json({})
        },
      })
      const first = post(site, { key: 'k' })
      while (runs === 0) await new Promise(setImmediate)
      const copy = await post(site, { key: 'k' })
      expect(copy).toMatchObject({ status: 409 })
      expect(JSON.parse(copy.text)).toMatchObject({
        type: 'urn:sluice:problem:idempotency-in-progress',
        status: 409,
      })
      expect(Number(copy.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      const other = await post(site, { key: 'k', body: '{"amount":2}' })
      expect(other.status, 'I2: also while it is running').toBe(422)
      gate.emit('finish')
      expect((await first).status).toBe(200)
    })

    it('I2: the same key with other content is 422, also after the first failed', async () => {
      const { site } = await serve({
        handler: (turn) => {
          turn.status(500)
          turn.json({ failed: true })
        },
      })
      await post(site, { key: 'k' })
      const other = await post(site, { key: 'k', body: '{"amount":2}' })
      expect(other.status).toBe(422)
      expect(other.headers['content-type']).toBe('application/problem+json')
      expect(JSON.parse(other.text)).toMatchObject({
        type: 'urn:sluice:problem:idempotency-key-reused',
        title: 'Idempotency key is already used',
        status: 422,
      })
      expect(runs).toBe(1)
    })

    it('I7, I23: a body past the cap passes whole and leaves a tombstone with its Location', async () => {
      const { site } = await serve({
        maxBodyBytes: 100,
        handler: (turn) => {
          turn.status(201)
          turn.set('Location', '/orders/7')
          turn.bytes(LONG)
        },
      })
      const first = await post(site, { key: 'k' })
      expect(first).toMatchObject({ status: 201, text: LONG })
      const retry = await post(site, { key: 'k' })
      expect(retry.status).toBe(409)
      expect(retry.headers.location).toBe('/orders/7')
      expect(JSON.parse(retry.text).type).toBe(
        'urn:sluice:problem:idempotency-result-not-replayable',
      )
      expect(runs).toBe(1)
    })

    it('I10: what the handler throws is answered by the error handler, and that is replayed', async () => {
      const { site, errors } = await serve({
        handler: async () => {
          throw Object.assign(new Error('broken'), { status: 502, expose: true })
        },
      })
      const first = await post(site, { key: 'k' })
      const replay = await post(site, { key: 'k' })
      expect(first.status).toBe(502)
      expect(essence(replay, ...perClient)).toEqual(essence(first, ...perClient))
      expect(errors).toHaveLength(1)
      expect(runs).toBe(1)
    })

    it('I8: a client that has its response and retries at once gets the replay, never 409', async () => {
      const { site } = await serve({
        handler: (turn) => turn.stream(Readable.from(['one ', 'two ', 'three'])),
      })
      for (let round = 0; round < 10; round++) {
        const key = `k${round}`
        expect(await post(site, { key })).toMatchObject({ status: 200, text: 'one two three' })
        expect(await post(site, { key })).toMatchObject({ status: 200, text: 'one two three' })
      }
      expect(runs).toBe(10)
    })
  },
)

const LONG = 'a long text, '.repeat(100)
