import { randomUUID } from 'node:crypto'
import { cleanup, migrate, type PostgresPool } from '@sluice/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, databaseKinds } from '../support/postgres-databases.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

describe.each(await databaseKinds())('cleanup on $name', ({ missing, open }) => {
  let database: Database
  let pool: PostgresPool
  let schema: string

  beforeAll(async () => {
    if (missing) return
    database = await open()
    pool = database.sluice
  }, OPEN_MS)

  beforeEach(async ({ skip }) => {
    skip(missing !== undefined, missing)
    schema = `test_${randomUUID().replaceAll('-', '')}`
    await migrate(pool, { schema })
    await pool.query(
      `INSERT INTO "${schema}".records
         (id, subject, state, attempt, fence, since, expires_at, owner, fingerprint, caller)
       SELECT decode(md5(n::text), 'hex'), n, 'completed', 1, 1, now(), now() - interval '1 s', '', '', ''
       FROM generate_series(1, 2500) AS n;
       UPDATE "${schema}".records SET expires_at = now() + interval '1 h' WHERE number % 5 = 0`,
    )
    return async () => {
      await pool.query(`DROP SCHEMA "${schema}" CASCADE`)
    }
  })

  afterAll(() => database?.[Symbol.asyncDispose]())

  test('P8, P7: removes what expired, in batches, says how many, and leaves the rest', async () => {
    const batches: unknown[] = []
    const counting: PostgresPool = {
      query: (text, values) => {
        batches.push(values?.[0])
        return pool.query(text, values)
      },
      connect: () => pool.connect(),
    }
    expect(await cleanup(counting, { schema, batchSize: 300 })).toBe(2000)
    expect(batches).toEqual(new Array(7).fill(300))
    expect(await left()).toBe(500)
    expect(await cleanup(pool, { schema })).toBe(0)
  })

  test('P8: run everywhere at once, each record is removed and counted once', async () => {
    const counts = await Promise.all(
      Array.from({ length: 5 }, () => cleanup(pool, { schema, batchSize: 50 })),
    )
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2000)
    expect(await left()).toBe(500)
  })

  async function left(): Promise<number> {
    const { rows } = await pool.query(`SELECT count(*) AS n FROM "${schema}".records`)
    return Number(rows[0]?.['n'])
  }
})

test.each([0, 1.5, 100_001])('P8: a batch of %d is refused', async (batchSize) => {
  const silent = { query: () => Promise.reject(new Error('sent')), connect: () => Promise.reject() }
  await expect(cleanup(silent, { batchSize })).rejects.toThrow('`batchSize` must be')
})
