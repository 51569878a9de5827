import { fromFlexible, StoreUnavailableError } from '@sluice/core'
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Database, databaseKinds, openPool } from '../support/postgres-databases.ts'
import { PostgresServer } from '../support/postgres-server.ts'

/** The embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

/** A busy machine may be slow to answer; only an error is to count as a failure here. */
const PATIENT = { timeoutMs: 10_000 }

const tables: string[] = []

const kinds = await databaseKinds()

describe.each(kinds)('RateLimiterPostgres on $name', ({ missing, open }) => {
  let database: Database

  beforeAll(async () => {
    if (!missing) database = await open()
  }, OPEN_MS)

  beforeEach(({ skip }) => {
    skip(missing !== undefined, missing)
  })

  afterAll(async () => {
    if (!database) return
    for (const table of tables.splice(0))
      await database.pool.query({ text: `DROP TABLE IF EXISTS ${table}` })
    await database[Symbol.asyncDispose]()
  })

  it('R5, R34: admits exactly its limit of many calls at once', async () => {
    const limiter = fromFlexible(await make(database, { points: 7, duration: 60 }), PATIENT)
    const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.consume('ann')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(7)
    for (const { source, limit, remaining, retryAfterMs, allowed, resetMs } of decisions) {
      expect({ source, limit }).toEqual({ source: 'store', limit: 7 })
      expect(remaining).toBeGreaterThanOrEqual(0)
      expect(resetMs).toBeGreaterThan(40_000)
      expect(retryAfterMs).toBe(allowed ? 0 : resetMs)
    }
    expect((await limiter.consume('bob')).remaining).toBe(6)
  })

  it('R34: peek, refund and reset work on the row of the key', async () => {
    const flexible = await make(database, { points: 3, duration: 60 })
    const limiter = fromFlexible(flexible, PATIENT)
    await limiter.refund('ann', 1)
    expect(await flexible.get('ann')).toBeNull()
    await limiter.consume('ann', { cost: 2 })
    expect(await limiter.peek('ann', { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
    await limiter.refund('ann', 1)
    expect(await limiter.peek('ann', { cost: 2 })).toMatchObject({ allowed: true, remaining: 2 })
    await Promise.all([limiter.refund('ann', 5), limiter.refund('ann', 5)])
    expect(await flexible.get('ann')).toMatchObject({ consumedPoints: 0 })
    await limiter.reset('ann')
    expect(await flexible.get('ann')).toBeNull()
  })

  it('R34: admits again when the window is over', async () => {
    const limiter = fromFlexible(await make(database, { points: 1, duration: 1 }), PATIENT)
    await limiter.consume('ann')
    const refused = await limiter.consume('ann')
    expect(refused).toMatchObject({ allowed: false, source: 'store' })
    expect(refused.retryAfterMs).toBeLessThanOrEqual(1000)
    await eventually(async () => (await limiter.peek('ann')).allowed)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'store' })
  })

  it('R34: knows a quota that never comes back', async () => {
    const limiter = fromFlexible(await make(database, { points: 1, duration: 0 }), PATIENT)
    const never = Number.POSITIVE_INFINITY
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, resetMs: never })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: never })
  })

  it('R10, R34: no key, however odd, makes the store fail', async () => {
    const limiter = fromFlexible(await make(database, { points: 1, duration: 60 }), PATIENT)
    const keys = ['a\0b', 'a b', '\ud83d', '\ude00', '😀', 'x'.repeat(10_000), "'; --", '%', 'ż']
    for (const key of keys) {
      const first = await limiter.consume(key)
      expect(first, key).toMatchObject({ allowed: true, source: 'store' })
      expect((await limiter.consume(key)).allowed, key).toBe(false)
    }
  })

  it('R34: is replaced by the process until its table is there, and never refuses for that', async () => {
    const flexible = new RateLimiterPostgres(optionsOf(database, { points: 100, duration: 60 }))
    const limiter = fromFlexible(flexible, PATIENT)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'local' })
    await eventually(async () => (await limiter.consume('ann')).source === 'store')
    expect((await flexible.get('ann'))?.consumedPoints).toBe(1)
  })
})

describe('RateLimiterPostgres on a server that stops', () => {
  let server: PostgresServer | undefined

  beforeAll(async () => {
    if (await PostgresServer.binaries()) server = await PostgresServer.start()
  }, OPEN_MS)

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  it('R31, R32, R34: hands over to its target while it is gone, and heals', async ({ skip }) => {
    if (!server) return skip('no postgres and initdb are on the PATH')
    await using database = openPool(server.url)
    const flexible = await make(database, { points: 100, duration: 60 })
    const limiter = fromFlexible(flexible, {
      ...PATIENT,
      onStoreFailure: fromFlexible(new RateLimiterMemory({ points: 1, duration: 60 })),
    })
    await limiter.consume('ann')
    await server.stop()
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 1, source: 'local' })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, source: 'local' })
    await expect(limiter.peek('ann')).rejects.toThrow(StoreUnavailableError)
    await server.restart()
    await eventually(async () => (await limiter.consume('ann')).source === 'store')
    expect((await limiter.peek('ann')).remaining).toBe(98)
  })
})

interface Settings {
  readonly points: number
  readonly duration: number
}

/** A limiter on a table of its own, which is there when this returns. */
function make(database: Database, settings: Settings): Promise<RateLimiterPostgres> {
  return new Promise((resolve, reject) => {
    const options = optionsOf(database, settings)
    const limiter: RateLimiterPostgres = new RateLimiterPostgres(options, (error) =>
      error ? reject(error) : resolve(limiter),
    )
  })
}

function optionsOf({ pool }: Database, settings: Settings) {
  const tableName = `sluice_test_${process.pid}_${Date.now()}_${tables.length}`
  tables.push(tableName)
  return { ...settings, storeClient: pool, storeType: 'pool', tableName }
}
