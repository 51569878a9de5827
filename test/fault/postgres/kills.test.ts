import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { migrate, type PostgresPool, pglitePool } from '@sluice/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Child } from '../../support/child.ts'
import { compileChild } from '../../support/compiled-child.ts'
import { eventually } from '../../support/eventually.ts'
import { Site } from '../../support/http.ts'
import {
  type Database,
  type DatabaseKind,
  databaseKinds,
} from '../../support/postgres-databases.ts'
import { endLeases, happened, shop, TABLES } from './shop.ts'

const compiled = await compileChild(new URL('children/shop.ts', import.meta.url))
afterAll(() => compiled[Symbol.asyncDispose]())
const startChild = (...args: string[]) => Child.start(compiled.file, { args, compiled: true })

/** In the order in which a request sends them. */
const STATEMENTS = ['claim', 'BEGIN', 'order', 'account', 'charge', 'settle', 'COMMIT'] as const

/** With the reply of one statement is before the next one; only after the last there is none. */
const kills = [
  ...STATEMENTS.flatMap((statement, index) =>
    (['before', 'during'] as const).map((phase) => ({ statement, phase, number: index + 1 })),
  ),
  { statement: 'COMMIT', phase: 'after', number: STATEMENTS.length } as const,
]

const [, { missing, open }] = (await databaseKinds()) as readonly [DatabaseKind, DatabaseKind]

describe('a shop on a PostgreSQL server', () => {
  let database: Database
  let url: string
  let pool: PostgresPool
  let site: Site

  beforeAll(async () => {
    if (missing) return
    database = await open()
    pool = database.sluice
    url = String(database.url)
    await migrate(pool)
    await pool.query(TABLES)
    site = await Site.serve(shop(pool))
  })

  beforeEach(({ skip }) => {
    skip(missing !== undefined, missing)
  })

  afterAll(async () => {
    if (missing) return
    await site[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  test.concurrent.each(kills)(
    'P4: killed $phase $statement, it charges once, and a retry gets the one answer',
    async ({ statement, phase, number }) => {
      const key = `${statement}-${phase}`
      await using child = await startChild(url, String(number), phase)
      const first = await order(await child.ask<string>(), key).catch(() => undefined)
      expect(first).toBeUndefined()
      const before = await happened(pool, key)
      if (number < STATEMENTS.length) expect(before).toEqual({ orders: 0, charges: 0 })
      if (statement === 'COMMIT' && phase === 'after')
        expect(before).toEqual({ orders: 1, charges: 1 })
      // The server may still be busy with what the process had sent.
      const retried = await untilAnswered(() => endLeases(pool, key), site.url, key)
      expect(await happened(pool, key)).toEqual({ orders: 1, charges: 1 })
      if (before.orders === 1) expect(retried.headers['idempotency-replayed']).toBe('true')
      const again = await order(site.url, key)
      expect(again.headers['idempotency-replayed']).toBe('true')
      expect(again.body).toBe(retried.body)
    },
  )

  test('P4: killed with the answer on its way, a retry gets the same', async () => {
    await using child = await startChild(url, '0', 'never')
    const first = await order(await child.ask<string>(), 'answered')
    await child.kill()
    const again = await order(site.url, 'answered')
    expect(again).toMatchObject({ status: 201, body: first.body })
    expect(await happened(pool, 'answered')).toEqual({ orders: 1, charges: 1 })
  })

  test('P4: the account was charged once an order, whatever was killed', async () => {
    const { rows } = await pool.query(
      'SELECT balance + 5 * (SELECT count(*) FROM charges) AS left FROM accounts',
    )
    expect(Number(rows[0]?.['left'])).toBe(0)
    const open = await pool.query("SELECT 1 FROM sluice.records WHERE state <> 'completed'")
    expect(open.rows).toEqual([])
  })
})

describe('a shop on an embedded database', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-pglite-'))
    const database = await PGlite.create(folder)
    const pool = pglitePool(database)
    await migrate(pool)
    await pool.query(TABLES)
    await database.close()
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(['before', 'after'] as const)(
    'P4, P7: killed %s COMMIT, it charges once',
    async (phase) => {
      const number = STATEMENTS.indexOf('COMMIT') + 1
      const dying = await startChild(folder, String(number), phase)
      await expect(order(await dying.ask<string>(), phase)).rejects.toThrow()
      await dying.kill()
      await using child = await startChild(folder, '0', 'never')
      const retried = await untilAnswered(() => child.ask(phase), await child.ask<string>(), phase)
      expect(retried.status).toBe(201)
      expect(await child.ask(phase)).toEqual({ orders: 1, charges: 1 })
    },
  )
})

async function order(url: string, key: string) {
  const response = await fetch(`${url}/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `"${key}"` },
    body: '{"item":"book"}',
  })
  const headers = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: await response.text() }
}

/** A client that is told to come back later does. */
function untilAnswered(endLease: () => Promise<unknown>, url: string, key: string) {
  return eventually(
    async () => {
      await endLease()
      const answer = await order(url, key)
      expect(answer.status).toBe(201)
      return answer
    },
    { withinMs: 20_000 },
  )
}
