import { EventEmitter, once } from 'node:events'
import { createIdempotency, memoryStore } from '@sluice/core'
import { migrate, type PostgresClient, type PostgresPool, postgresStore } from '@sluice/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, databaseKinds } from '../support/postgres-databases.ts'
import { type AppOptions, frameworks } from './idempotency/apps.ts'
import { essence, post, problemCode } from './idempotency/client.ts'
import type { Handler, Turn } from './idempotency/turns.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

describe.each(await databaseKinds())('transactional on $name', ({ name, missing, open }) => {
  let database: Database
  let pool: PostgresPool
  let key = 0

  beforeAll(async () => {
    if (missing) return
    database = await open()
    pool = database.sluice
    await migrate(pool)
    // Checked by COMMIT.
    await pool.query('CREATE TABLE orders (item text UNIQUE DEFERRABLE INITIALLY DEFERRED)')
  }, OPEN_MS)

  beforeEach(async ({ skip }) => {
    skip(missing !== undefined, missing)
    await pool.query('TRUNCATE orders')
    key++
  })

  afterAll(async () => {
    if (!database) return
    await database[Symbol.asyncDispose]()
  })

  describe.each(frameworks)('$name', (framework) => {
    const serve = (handler: Handler, options: Partial<AppOptions> = {}) =>
      framework.serve({ ...transactional(), ...options, handler })

    test.each([
      ['after the callback', answerAfter],
      ['inside of it', answerInside],
    ])(
      'P4, P7: what is answered %s is committed with the writes, and replayed',
      async (_, handler) => {
        await using app = await serve(handler)
        const first = await post(app.site, { key: `"${key}"` })
        expect(first).toMatchObject({ status: 201, text: '{"item":"book"}' })
        expect(await orders()).toEqual(['book'])
        const again = await post(app.site, { key: `"${key}"` })
        expect(again.headers['idempotency-replayed']).toBe('true')
        expect(essence(again)).toEqual(essence(first))
        expect(await orders()).toEqual(['book'])
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
      expect(await post(app.site, { key: `"${key}"` })).toMatchObject({ status: 500 })
      expect(await orders()).toEqual([])
      works = true
      const retried = await post(app.site, { key: `"${key}"` })
      expect(retried).toMatchObject({ status: 200, text: '{"paid":true}' })
      expect(retried.headers['idempotency-replayed']).toBeUndefined()
      expect(await orders()).toEqual(['book'])
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
      const answer = await post(app.site, { key: `"${key}"` })
      expect(answer.status).toBe(503)
      expect(problemCode(answer)).toBe('idempotency-not-committed')
      expect(answer.headers).toMatchObject({ 'x-outer': 'stays', 'retry-after': '1' })
      expect(answer.headers['x-order']).toBeUndefined()
      expect(await orders()).toEqual([])
    })

    test('P4: a commit that fails is 503, never a success, and a retry runs', async () => {
      await pool.query("INSERT INTO orders VALUES ('book')")
      await using app = await serve(answerAfter)
      const refused = await post(app.site, { key: `"${key}"` })
      expect(refused.status).toBe(503)
      expect(problemCode(refused)).toBe('idempotency-not-committed')
      await pool.query('TRUNCATE orders')
      const retried = await post(app.site, { key: `"${key}"` })
      expect(retried).toMatchObject({ status: 201, text: '{"item":"book"}' })
      expect(await orders()).toEqual(['book'])
    })

    test.each(['before', 'after'] as const)(
      'P4: a commit that fails is 503 or a cut under compression %s it, where bytes may have gone',
      async (compression) => {
        await pool.query("INSERT INTO orders VALUES ('book')")
        await using app = await serve(answerAfter, { compression })
        const headers = { 'Accept-Encoding': 'gzip' }
        const refused = await post(app.site, { key: `"${key}"`, headers }).catch(() => 'cut')
        if (typeof refused !== 'string')
          expect(problemCode(refused)).toBe('idempotency-not-committed')
        await pool.query('TRUNCATE orders')
        const retried = await post(app.site, { key: `"${key}"`, headers })
        expect(retried).toMatchObject({ status: 201, text: '{"item":"book"}' })
        expect(await orders()).toEqual(['book'])
      },
    )

    test('P4: where bytes had gone, a commit that fails cuts the connection', async () => {
      await pool.query("INSERT INTO orders VALUES ('book')")
      await using app = await serve(async (turn) => {
        await transaction(turn, (client) => order(client, 'book'))
        turn.raw((res) => {
          res.write('begun')
          res.end(' and done')
        })
      })
      await expect(post(app.site, { key: `"${key}"` })).rejects.toThrow(
        /aborted|hang up|ECONNRESET/,
      )
      await pool.query('TRUNCATE orders')
      expect(await post(app.site, { key: `"${key}"` })).toMatchObject({ text: 'begun and done' })
    })

    test.each([408, 425, 429])('P4: an answer of %d says that nothing happened', async (status) => {
      await using app = await serve(async (turn) => {
        await transaction(turn, (client) => order(client, 'book'))
        turn.status(status)
        turn.json('later')
      })
      expect(await post(app.site, { key: `"${key}"` })).toMatchObject({ status })
      expect(await orders()).toEqual([])
    })

    test('P4: release() undoes the writes', async () => {
      await using app = await serve(async (turn) => {
        await transaction(turn, (client) => order(client, 'book'))
        await turn.idempotency?.release()
        turn.json('sold out')
      })
      for (let attempt = 0; attempt < 2; attempt++) {
        const answer = await post(app.site, { key: `"${key}"` })
        expect(answer).toMatchObject({ status: 200, text: '"sold out"' })
        expect(answer.headers['idempotency-replayed']).toBeUndefined()
      }
      expect(await orders()).toEqual([])
    })
  })

  const [framework] = frameworks
  const serve = (handler: Handler, options: Partial<AppOptions> = {}) =>
    (framework as (typeof frameworks)[number]).serve({ ...transactional(), ...options, handler })

  test('P4: a statement that failed and was ignored spoils the transaction', async () => {
    await using app = await serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        await client.query('SELECT 1 / 0').catch(() => {})
      })
      turn.json('fine')
    })
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(503)
    expect(await orders()).toEqual([])
  })

  test('P4: several callbacks share one transaction', async () => {
    await using app = await serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      await transaction(turn, (client) => order(client, 'pen'))
      turn.json('both')
    })
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(200)
    expect(await orders()).toEqual(['book', 'pen'])
  })

  test('P4: work that outlives maxRunMs is rolled back, and can do nothing any more', async () => {
    const errors: unknown[] = []
    await using app = await serve(
      async (turn) => {
        await transaction(turn, async (client) => {
          await order(client, 'book')
          await once(turn.idempotency?.signal as AbortSignal, 'abort')
          await order(client, 'pen').catch((error: unknown) => errors.push(error))
        })
        turn.json('late')
      },
      { leaseMs: 200, maxRunMs: 200 },
    )
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(200)
    expect(errors).toHaveLength(1)
    expect(await orders()).toEqual([])
  })

  test('P4: the client can neither be released nor end the transaction', async () => {
    const refused: string[] = []
    await using app = await serve(async (turn) => {
      await transaction(turn, async (client) => {
        for (const sql of ['COMMIT', ' rollback;', 'begin', 'END', 'Start Transaction'])
          await attempt(() => client.query(sql))
        await attempt(() => client.release())
        await client.query('SAVEPOINT a')
        await order(client, 'pen')
        await client.query('ROLLBACK TO SAVEPOINT a')
        await order(client, 'book')
      })
      turn.json('fine')
    })
    const attempt = async (act: () => unknown) => {
      try {
        await act()
      } catch {
        refused.push('refused')
      }
    }
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(200)
    expect(refused).toHaveLength(6)
    expect(await orders()).toEqual(['book'])
  })

  test('P4: the client is of no use once the response was sent', async () => {
    let kept: PostgresClient | undefined
    await using app = await serve(async (turn) => {
      await transaction(turn, (client) => {
        kept = client
        return order(client, 'book')
      })
      turn.json('fine')
    })
    await post(app.site, { key: `"${key}"` })
    expect(() => kept?.query("INSERT INTO orders VALUES ('pen')")).toThrow('revoked')
    expect(await orders()).toEqual(['book'])
  })

  test('P4: a response that is too long to keep leaves a tombstone', async () => {
    await using app = await serve(answerAfter, { maxBodyBytes: 3 })
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(201)
    const again = await post(app.site, { key: `"${key}"` })
    expect(problemCode(again)).toBe('idempotency-result-not-replayable')
    expect(await orders()).toEqual(['book'])
  })

  test('P4: transaction() needs `transactional`, and that a store with transactions', async () => {
    let error: unknown
    await using app = await serve(
      async (turn) => {
        error = await transaction(turn, () => {}).catch((caught: unknown) => caught)
        turn.json('fine')
      },
      { transactional: false },
    )
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(200)
    expect(error).toMatchObject({ code: 'configuration', option: 'transactional' })
    expect(() => createIdempotency({ store: memoryStore(), transactional: true })).toThrow(
      'postgresStore',
    )
  })

  test('P4: a run outside of HTTP commits its result with its writes', async () => {
    const idempotency = createIdempotency(transactional())
    const request = { key: `job ${key}`, fingerprint: 'x' }
    const begun = await idempotency.begin(request)
    if (begun.state !== 'started') throw new Error(begun.state)
    const { client, commit } = await begun.execution.transaction()
    await order(client as PostgresClient, 'book')
    await commit({ status: 200, headers: [], body: 'done' })
    expect(await idempotency.begin(request)).toMatchObject({ state: 'replay' })
    expect(await orders()).toEqual(['book'])
  })

  test('P4: a commit whose reply was lost is 503, and a retry gets the result', async () => {
    const losing: PostgresPool = {
      query: (text, values) => pool.query(text, values),
      connect: async () => {
        const client = await pool.connect()
        return {
          release: (error) => client.release(error),
          query: async (text, values) => {
            const reply = await client.query(text, values)
            if (text === 'COMMIT') throw new Error('the connection broke')
            return reply
          },
        }
      },
    }
    await using app = await serve(answerAfter, { store: postgresStore(losing) })
    const first = await post(app.site, { key: `"${key}"` })
    expect(problemCode(first)).toBe('idempotency-not-committed')
    const again = await post(app.site, { key: `"${key}"` })
    expect(again).toMatchObject({ status: 201, text: '{"item":"book"}' })
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(await orders()).toEqual(['book'])
  })

  test('P4, P5: behind a fast store, what was committed is replayed by that', async () => {
    const authority = postgresStore(pool)
    await using app = await serve(answerAfter, { store: memoryStore(), authority })
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(201)
    await pool.query('TRUNCATE sluice.records')
    const again = await post(app.site, { key: `"${key}"` })
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(await orders()).toEqual(['book'])
  })

  if (name === 'PGlite') return // whoever has its connection has it alone

  test('P4: an owner whose key was claimed by somebody else commits nothing', async () => {
    await using app = await serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      await pool.query("UPDATE sluice.records SET owner = 'somebody else' WHERE state = 'claimed'")
      turn.json('fine')
    })
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(503)
    expect(await orders()).toEqual([])
  })

  test('P4: a connection that breaks before the commit is 503, and a retry runs', async () => {
    let broken = false
    await using app = await serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
        const pid = rows[0]?.['pid']
        if (!broken) await pool.query('SELECT pg_terminate_backend($1)', [pid])
        broken = true
        // Long enough for the process to hear of it while no statement is under way.
        for (let question = 0; question < 10; question++) await pool.query('SELECT 1')
      })
      turn.json('fine')
    })
    expect((await post(app.site, { key: `"${key}"` })).status).toBe(503)
    expect(await orders()).toEqual([])
    const retried = await post(app.site, { key: `"${key}"` })
    expect(retried.headers['idempotency-replayed']).toBeUndefined()
    expect(retried.status).toBe(200)
    expect(await orders()).toEqual(['book'])
  })

  test('P4: while a transaction is open a copy of its request is in progress', async () => {
    const gate = new EventEmitter()
    await using app = await serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        gate.emit('inside')
        await once(gate, 'leave')
      })
      turn.json('fine')
    })
    const isInside = once(gate, 'inside')
    const first = post(app.site, { key: `"${key}"` })
    await isInside
    expect(problemCode(await post(app.site, { key: `"${key}"` }))).toBe('idempotency-in-progress')
    gate.emit('leave')
    expect((await first).status).toBe(200)
    expect(await orders()).toEqual(['book'])
  })

  function transactional() {
    return { store: postgresStore(pool), transactional: true, timeoutMs: 10_000 }
  }

  async function orders(): Promise<unknown[]> {
    const { rows } = await pool.query('SELECT item FROM orders ORDER BY item')
    return rows.map(({ item }) => item)
  }
})

function transaction<Result>(
  { idempotency }: Turn,
  work: (client: PostgresClient) => Result | Promise<Result>,
): Promise<Result> {
  if (!idempotency) throw new Error('not protected')
  return idempotency.transaction(work)
}

async function order(client: PostgresClient, item: string): Promise<void> {
  await client.query('INSERT INTO orders VALUES ($1)', [item])
}

async function answerAfter(turn: Turn): Promise<void> {
  await transaction(turn, (client) => order(client, 'book'))
  turn.status(201)
  turn.json({ item: 'book' })
}

async function answerInside(turn: Turn): Promise<void> {
  await transaction(turn, async (client) => {
    turn.status(201)
    turn.json({ item: 'book' })
    await order(client, 'book')
  })
}
