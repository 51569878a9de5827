import { randomUUID } from 'node:crypto'
import { StaleFenceError } from '@sluice/core'
import { guardFence, migrate, type PostgresClient, type PostgresPool } from '@sluice/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Database, databaseKinds } from '../support/postgres-databases.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const

describe.each(await databaseKinds())('fences on $name', ({ name, missing, open }) => {
  let database: Database
  let pool: PostgresPool
  let resource: string

  beforeAll(async () => {
    if (missing) return
    database = await open()
    pool = database.sluice
    await migrate(pool)
    await pool.query('CREATE TABLE writes (resource text, fence bigint)')
  }, OPEN_MS)

  beforeEach(({ skip }) => {
    skip(missing !== undefined, missing)
    resource = `order:${randomUUID()}`
  })

  afterAll(async () => {
    await database?.[Symbol.asyncDispose]()
  })

  describe.each(LEVELS)('under %s', (level) => {
    test('P2, P7: accepts a fence again and a higher one, refuses a lower one with both numbers', async () => {
      for (const fence of [5, 5, 9]) await write(level, fence)
      const error = await write(level, 8).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(StaleFenceError)
      expect(error).toMatchObject({ code: 'stale-fence', fence: 8, acceptedFence: 9 })
      expect(await written()).toEqual([5, 5, 9])
    })

    test('P2: what was rolled back was not accepted', async () => {
      await inTransaction(level, async (client) => {
        await guardFence(client, resource, 9)
        throw new Error('changed my mind')
      }).catch(() => {})
      await write(level, 5)
      expect(await written()).toEqual([5])
    })

    test('P2: resources of odd names do not meet', async () => {
      const names = ['a', 'a\0', 'a\0b', '\ud83d', '\ude00', 'x'.repeat(10_000), "'; --"]
      await inTransaction(level, async (client) => {
        for (const [index, odd] of names.entries())
          await guardFence(client, `${resource} ${odd}`, 100 - index)
      })
    })

    test('P2: writers at once leave fences in rising order, and each hears what became of it', async () => {
      const fences = Array.from({ length: 20 }, (_, index) => index + 1).sort(
        () => Math.random() - 0.5,
      )
      const outcomes = await Promise.all(
        fences.map((fence) => untilDecided(level, fence).then((how) => ({ fence, how }))),
      )
      const accepted = await written()
      expect(accepted).toEqual([...accepted].sort((a, b) => a - b))
      expect(accepted.at(-1)).toBe(20)
      for (const { fence, how } of outcomes)
        expect(how, `fence ${fence}`).toBe(accepted.includes(fence) ? 'accepted' : 'stale')
    })
  })

  if (name === 'PGlite') return // one connection: nobody waits for anybody

  describe.each(LEVELS)('two connections under %s', (level) => {
    test('P2: a lower fence that waits for a higher one is stale when that commits', async () => {
      await race(level, async (first, second) => {
        await guardFence(first, resource, 9)
        const late = guardFence(second, resource, 8).catch((error: unknown) => error)
        await someoneWaits()
        await first.query('COMMIT')
        expect(await late).toMatchObject({ code: 'stale-fence', fence: 8, acceptedFence: 9 })
      })
    })

    test('P2: a lower fence is accepted when the higher one that it waited for is rolled back', async () => {
      await race(level, async (first, second) => {
        await guardFence(first, resource, 9)
        const late = guardFence(second, resource, 8)
        await someoneWaits()
        await first.query('ROLLBACK')
        await late
      })
    })

    test('P2: a higher fence that waits for a lower one is accepted, or told to try again', async () => {
      await race(level, async (first, second) => {
        await guardFence(first, resource, 8)
        const late = guardFence(second, resource, 9).then(
          () => 'accepted',
          (error: unknown) => Reflect.get(Object(error), 'code'),
        )
        await someoneWaits()
        await first.query('COMMIT')
        expect(await late).toBe(level === 'READ COMMITTED' ? 'accepted' : '40001')
      })
      await write(level, 9)
    })

    test('P2: a transaction that lost its race can do nothing any more', async () => {
      await race(level, async (first, second) => {
        await second.query('SELECT 1 FROM sluice.fences')
        await second.query('INSERT INTO writes VALUES ($1, 1)', [resource])
        await guardFence(first, resource, 9)
        await first.query('COMMIT')
        await expect(guardFence(second, resource, 8)).rejects.toThrow(StaleFenceError)
        if (level === 'READ COMMITTED') return // the caller's to roll back
        await expect(second.query('INSERT INTO writes VALUES ($1, 2)', [resource])).rejects.toThrow(
          'current transaction is aborted',
        )
        await second.query('COMMIT') // which PostgreSQL takes for ROLLBACK
        expect(await written()).toEqual([])
      })
    })
  })

  test('P2: only a client in a transaction will do', async () => {
    await expect(guardFence(database.sluice, resource, 1)).rejects.toThrow('`client`')
  })

  /** Two transactions, rolled back unless the test ended them. */
  async function race(
    level: string,
    run: (first: PostgresClient, second: PostgresClient) => Promise<void>,
  ): Promise<void> {
    const clients = [await pool.connect(), await pool.connect()] as const
    try {
      for (const client of clients) await client.query(`BEGIN ISOLATION LEVEL ${level}`)
      await run(...clients)
    } finally {
      for (const client of clients) {
        await client.query('ROLLBACK')
        client.release()
      }
    }
  }

  function someoneWaits(): Promise<unknown> {
    return eventually(async () => {
      const { rows } = await pool.query('SELECT 1 FROM pg_locks WHERE NOT granted')
      return rows.length > 0
    })
  }

  function write(level: string, fence: number): Promise<void> {
    return inTransaction(level, async (client) => {
      await guardFence(client, resource, fence)
      await client.query('INSERT INTO writes VALUES ($1, $2)', [resource, fence])
    })
  }

  async function untilDecided(level: string, fence: number): Promise<'accepted' | 'stale'> {
    for (;;) {
      const error = await write(level, fence).catch((caught: unknown) => Object(caught))
      if (error === undefined) return 'accepted'
      if (error.code === 'stale-fence') return 'stale'
      if (error.code !== '40001') throw error
    }
  }

  async function inTransaction(
    level: string,
    work: (client: PostgresClient) => Promise<void>,
  ): Promise<void> {
    const client = await pool.connect()
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${level}`)
      await work(client)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }

  /** In the order in which they were written. */
  async function written(): Promise<number[]> {
    const { rows } = await pool.query('SELECT fence FROM writes WHERE resource = $1', [resource])
    return rows.map((row) => Number(row['fence']))
  }
})

test.each([
  ['', 1, '`resource` must be a non-empty string'],
  ['a', -1, '`fence` must be a safe integer from 0'],
  ['a', 2 ** 53, '`fence` must be a safe integer from 0'],
  ['a', 1.5, '`fence` must be a safe integer from 0'],
])(
  'P2: resource %o with fence %d is refused, and nothing is sent',
  async (resource, fence, words) => {
    const silent = { query: () => Promise.reject(new Error('sent')) }
    await expect(guardFence(silent, resource, fence)).rejects.toThrow(words)
  },
)
