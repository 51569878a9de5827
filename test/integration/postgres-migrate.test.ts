import { randomUUID } from 'node:crypto'
import {
  type MigrationSqlOptions,
  migrate,
  migrationSql,
  type PostgresPool,
} from '@sluice/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, databaseKinds } from '../support/postgres-databases.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

const NEWEST = [1]

describe.each(await databaseKinds())('migrations on $name', ({ missing, open }) => {
  let database: Database
  let pool: PostgresPool
  let schema: string

  beforeAll(async () => {
    if (missing) return
    database = await open()
    pool = database.sluice
  }, OPEN_MS)

  beforeEach(({ skip }) => {
    skip(missing !== undefined, missing)
    schema = `test_${randomUUID().replaceAll('-', '')}`
    return async () => {
      await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
    }
  })

  afterAll(() => database?.[Symbol.asyncDispose]())

  test('P1, P7: of many at once each finds the tables made, once', async () => {
    await Promise.all(Array.from({ length: 8 }, () => migrate(pool, { schema })))
    expect(await versions()).toEqual(NEWEST)
    expect(await tables()).toEqual(['fences', 'migrations', 'outbox', 'records'])
  })

  test('P1: a second run changes nothing, and takes no connection for itself', async () => {
    await migrate(pool, { schema })
    const before = await versions()
    const reading: PostgresPool = {
      query: (text, values) => pool.query(text, values),
      connect: () => Promise.reject(new Error('connected')),
    }
    await migrate(reading, { schema })
    expect(await versions()).toEqual(before)
  })

  test('P1: what fails half-way leaves nothing', async () => {
    const failing: PostgresPool = {
      query: (text, values) => pool.query(text, values),
      connect: async () => {
        const client = await pool.connect()
        return {
          query: (text, values) =>
            client.query(text.replace(`TABLE "${schema}".outbox`, 'TABLE nowhere.outbox'), values),
          release: (error) => client.release(error),
        }
      },
    }
    await expect(migrate(failing, { schema })).rejects.toThrow('nowhere')
    expect(await tables()).toEqual([])
    await migrate(pool, { schema })
    expect(await versions()).toEqual(NEWEST)
  })

  test('P1: the SQL is what migrate runs, and tells migrate what is there', async () => {
    await pool.query(`BEGIN; ${migrationSql({ schema })} COMMIT`)
    const before = await versions()
    await migrate(pool, { schema })
    expect(await versions()).toEqual(before)
    expect(await tables()).toEqual(['fences', 'migrations', 'outbox', 'records'])
  })

  test('P1: a version that is newer than this code is left as it is', async () => {
    await migrate(pool, { schema })
    await pool.query(`INSERT INTO "${schema}".migrations (version) VALUES (1000)`)
    await migrate(pool, { schema })
    expect((await versions()).at(-1)).toBe(1000)
  })

  async function versions(): Promise<number[]> {
    const { rows } = await pool.query(`SELECT version FROM "${schema}".migrations ORDER BY version`)
    return rows.map((row) => Number(row['version']))
  }

  async function tables(): Promise<string[]> {
    const { rows } = await pool.query(
      'SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = $1',
      [schema],
    )
    return rows.map((row) => String(row['name'])).sort()
  }
})

test('P1: the SQL for versions that are there already is left out', () => {
  expect(migrationSql()).toContain('CREATE SCHEMA IF NOT EXISTS "sluice"')
  expect(migrationSql({ from: NEWEST.length })).toBe('')
})

test.each<[MigrationSqlOptions, string]>([
  [{ schema: 'a"b' }, 'migrationSql: `schema` must be a string'],
  [{ schema: 'pg_x' }, 'migrationSql: `schema` must be a string'],
  [{ from: -1 }, 'migrationSql: `from` must be an integer'],
])('P1: %o is refused', (options, message) => {
  expect(() => migrationSql(options)).toThrow(message)
})
