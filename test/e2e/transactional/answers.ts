import { expect, test } from 'vitest'
import type { AppOptions, Framework } from '../idempotency/apps.ts'
import { essence, problemCode } from '../idempotency/client.ts'
import type { Handler } from '../idempotency/turns.ts'
import {
  answerAfter,
  answerInside,
  order,
  type TransactionalUnderTest,
  transaction,
} from './transactional-under-test.ts'

/** What a client is answered, on every framework. */
export function answerTests(at: TransactionalUnderTest, framework: Framework): void {
  const serve = (handler: Handler, options: Partial<AppOptions> = {}) =>
    at.serve(handler, options, framework)

  test.each([
    ['after the callback', answerAfter],
    ['inside of it', answerInside],
  ])(
    'P4, P7: what is answered %s is committed with the writes, and replayed',
    async (_, handler) => {
      await using app = await serve(handler)
      const first = await at.post(app.site)
      expect(first).toMatchObject({ status: 201, text: '{"item":"book"}' })
      expect(await at.orders()).toEqual(['book'])
      const again = await at.post(app.site)
      expect(again.headers['idempotency-replayed']).toBe('true')
      expect(essence(again)).toEqual(essence(first))
      expect(await at.orders()).toEqual(['book'])
    },
  )

  test('P4: a callback that throws is rolled back and frees the key, and its answer is not kept', async () => {
    let works = false
    await using app = await serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        if (!works) throw new Error('no such card')
      })
      turn.json({ paid: true })
    })
    expect(await at.post(app.site)).toMatchObject({ status: 500 })
    expect(await at.orders()).toEqual([])
    works = true
    const retried = await at.post(app.site)
    expect(retried).toMatchObject({ status: 200, text: '{"paid":true}' })
    expect(retried.headers['idempotency-replayed']).toBeUndefined()
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4: a success that was answered before the callback threw is not sent', async () => {
    await using app = await serve(
      async (turn) => {
        turn.set('X-Order', '7')
        await transaction(turn, async (client) => {
          await order(client, 'book')
          turn.raw((res) => res.end('done'))
          throw new Error('no such card')
        })
      },
      { outer: (turn) => turn.set('X-Outer', 'stays'), onError: () => {} },
    )
    const answer = await at.post(app.site)
    expect(answer.status).toBe(503)
    expect(problemCode(answer)).toBe('idempotency-not-committed')
    expect(answer.headers).toMatchObject({ 'x-outer': 'stays', 'retry-after': '1' })
    expect(answer.headers['x-order']).toBeUndefined()
    expect(await at.orders()).toEqual([])
  })

  test('P4: a commit that fails is 503, never a success, and a retry runs', async () => {
    await at.pool.query("INSERT INTO orders VALUES ('book')")
    await using app = await serve(answerAfter)
    const refused = await at.post(app.site)
    expect(refused.status).toBe(503)
    expect(problemCode(refused)).toBe('idempotency-not-committed')
    await at.pool.query('TRUNCATE orders')
    const retried = await at.post(app.site)
    expect(retried).toMatchObject({ status: 201, text: '{"item":"book"}' })
    expect(await at.orders()).toEqual(['book'])
  })

  test.each(['before', 'after'] as const)(
    'P4: a commit that fails is 503 or a cut under compression %s it, where bytes may have gone',
    async (compression) => {
      await at.pool.query("INSERT INTO orders VALUES ('book')")
      await using app = await serve(answerAfter, { compression })
      const headers = { 'Accept-Encoding': 'gzip' }
      const refused = await at.post(app.site, { headers }).catch(() => 'cut')
      if (typeof refused !== 'string')
        expect(problemCode(refused)).toBe('idempotency-not-committed')
      await at.pool.query('TRUNCATE orders')
      const retried = await at.post(app.site, { headers })
      expect(retried).toMatchObject({ status: 201, text: '{"item":"book"}' })
      expect(await at.orders()).toEqual(['book'])
    },
  )

  test('P4: where bytes had gone, a commit that fails cuts the connection', async () => {
    await at.pool.query("INSERT INTO orders VALUES ('book')")
    await using app = await serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      turn.raw((res) => {
        res.write('begun')
        res.end(' and done')
      })
    })
    await expect(at.post(app.site)).rejects.toThrow(/aborted|hang up|ECONNRESET/)
    await at.pool.query('TRUNCATE orders')
    expect(await at.post(app.site)).toMatchObject({ text: 'begun and done' })
  })

  test.each([408, 425, 429])('P4: an answer of %d says that nothing happened', async (status) => {
    await using app = await serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      turn.status(status)
      turn.json('later')
    })
    expect(await at.post(app.site)).toMatchObject({ status })
    expect(await at.orders()).toEqual([])
  })

  test('P4: release() undoes the writes', async () => {
    await using app = await serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      await turn.idempotency?.release()
      turn.json('sold out')
    })
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await at.post(app.site)
      expect(answer).toMatchObject({ status: 200, text: '"sold out"' })
      expect(answer.headers['idempotency-replayed']).toBeUndefined()
    }
    expect(await at.orders()).toEqual([])
  })
}
