import { migrate, outbox } from '@sluice/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Child } from '../../support/child.ts'
import { eventually } from '../../support/eventually.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

const CHILD = new URL('children/relay.ts', import.meta.url)

let server: PostgresServer | undefined
let pool: Pool

beforeAll(async () => {
  if (!(await PostgresServer.binaries())) return
  server = await PostgresServer.start()
  pool = new Pool({ connectionString: server.url })
  pool.on('error', () => {})
  await migrate(pool)
  await pool.query(
    'CREATE TABLE deliveries (n bigint GENERATED ALWAYS AS IDENTITY, message bigint, aggregate text)',
  )
})

beforeEach(({ skip }) => {
  skip(!server, 'no postgres and initdb are on the PATH')
})

afterAll(async () => {
  await pool?.end()
  await server?.[Symbol.asyncDispose]()
})

test('P6: relays that are killed, and a server that dies, lose nothing and keep the order', async () => {
  const aggregates = ['a', 'b', 'c', 'd', 'e', 'f']
  const messages = await addAll(aggregates, 30)
  const relays = await Promise.all([1, 2, 3].map(() => startRelay()))
  await delivered(20)
  await relays[0]?.kill()
  await delivered(60)
  await server?.restart()
  await delivered(100)
  await relays[1]?.kill()
  await eventually(
    async () => {
      const { rows } = await pool.query(
        'SELECT count(*) AS n FROM sluice.outbox WHERE delivered_at IS NULL',
      )
      return Number(rows[0]?.n) === 0
    },
    { withinMs: 40_000 },
  )
  const { rows } = await pool.query(
    'SELECT message, aggregate FROM deliveries GROUP BY 1, 2 ORDER BY min(n)',
  )
  expect(rows).toHaveLength(messages)
  for (const aggregate of aggregates) {
    const order = rows
      .filter((row) => row.aggregate === aggregate)
      .map((row) => Number(row.message))
    expect(order).toEqual([...order].sort((a, b) => a - b))
  }
  await relays[2]?.ask()
  for (const relay of relays) await relay.kill()
})

function startRelay(): Promise<Child> {
  return Child.start(CHILD, { args: [server?.url ?? ''] })
}

async function addAll(aggregates: readonly string[], each: number): Promise<number> {
  const box = outbox(pool, { publish: () => {} })
  const client = await pool.connect()
  await client.query('BEGIN')
  for (let n = 0; n < each; n++)
    for (const aggregate of aggregates)
      await box.add(client, { aggregate, type: 'counted', payload: n })
  await client.query('COMMIT')
  client.release()
  return aggregates.length * each
}

function delivered(atLeast: number): Promise<unknown> {
  return eventually(
    async () => {
      const { rows } = await pool.query('SELECT count(*) AS n FROM deliveries')
      return Number(rows[0]?.n) >= atLeast
    },
    { withinMs: 30_000 },
  )
}
