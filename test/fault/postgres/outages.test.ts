import { createIdempotency, StoreUnavailableError, subscribe } from '@sluice/core'
import { migrate, type PostgresPool, postgresStore } from '@sluice/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { PostgresServer } from '../../support/postgres-server.ts'

let server: PostgresServer | undefined
let pool: Pool

beforeAll(async () => {
  if (!(await PostgresServer.binaries())) return
  server = await PostgresServer.start()
  pool = new Pool({ connectionString: server.url, max: 4 })
  pool.on('error', () => {})
  await migrate(pool)
})

beforeEach(({ skip }) => {
  skip(!server, 'no postgres and initdb are on the PATH')
})

afterAll(async () => {
  await pool?.end()
  await server?.[Symbol.asyncDispose]()
})

const response = { status: 201, headers: [], body: 'made' }

test('P3, P7: a server that is gone is an error within the deadline, then an open circuit, and heals', async () => {
  const store = postgresStore(pool)
  const events: string[] = []
  const stop = subscribe('sluice:store', ({ type }) => events.push(type))
  const idempotency = createIdempotency({ store })
  const running = await idempotency.begin({ key: 'running', fingerprint: 'x' })
  if (running.state !== 'started') throw new Error(running.state)
  await server?.stop()
  for (let call = 0; call < 6; call++)
    await expect(idempotency.begin({ key: `new ${call}`, fingerprint: 'x' })).rejects.toThrow(
      StoreUnavailableError,
    )
  expect(events).toContain('circuit-opened')
  await expect(idempotency.inspect('running')).rejects.toMatchObject({ reason: 'circuit-open' })
  await server?.restart()
  await eventually(() => events.includes('circuit-closed'), { withinMs: 20_000 })
  const patient = createIdempotency({ store, timeoutMs: 20_000 })
  expect(await patient.inspect('running')).toMatchObject({ state: 'claimed' })
  expect(await running.execution.complete(response)).toBe('settled')
  expect(await patient.begin({ key: 'running', fingerprint: 'x' })).toMatchObject({
    state: 'replay',
  })
  stop()
  await store.close()
})

test('P3: a claim whose reply was lost is taken back, and keeps nobody from the key', async () => {
  let lost = false
  const losing: PostgresPool = {
    connect: () => pool.connect(),
    query: async (text, values) => {
      const reply = await pool.query(text, values)
      if (!lost && text.includes('granted AS')) {
        lost = true
        throw new Error('the connection broke')
      }
      return reply
    },
  }
  const idempotency = createIdempotency({ store: postgresStore(losing), timeoutMs: 20_000 })
  const request = { key: 'lost', fingerprint: 'x' }
  await expect(idempotency.begin(request)).rejects.toThrow(StoreUnavailableError)
  await eventually(async () => (await idempotency.inspect('lost')) === undefined)
  expect(await idempotency.begin(request)).toMatchObject({ state: 'started' })
})

test('P3: a database that isolates more by default changes nothing', async () => {
  const strict = new Pool({
    connectionString: server?.url,
    options: '-c default_transaction_isolation=serializable',
  })
  const idempotency = createIdempotency({ store: postgresStore(strict), timeoutMs: 20_000 })
  for (const key of ['one', 'two', 'three']) {
    const copies = Array.from({ length: 10 }, () => idempotency.begin({ key, fingerprint: 'x' }))
    const states = (await Promise.all(copies)).map(({ state }) => state)
    expect(states.filter((state) => state === 'started')).toHaveLength(1)
    expect(states.filter((state) => state === 'in-progress')).toHaveLength(9)
  }
  await strict.end()
})
