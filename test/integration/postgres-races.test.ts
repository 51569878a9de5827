import type { IdempotencyStore, SettleReply } from '@sluice/core'
import { migrate, type PostgresClient, postgresStore } from '@sluice/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  claimOf,
  lifetimes,
  ownerOf,
  response,
} from '../contract/idempotency-store/key-under-test.ts'
import { eventually } from '../support/eventually.ts'
import { PostgresServer } from '../support/postgres-server.ts'

/** The first of two calls is held open before it commits, so that the second must wait for it and see what it left. */
describe('two calls for one key at once on PostgreSQL', () => {
  let server: PostgresServer | undefined
  let pool: Pool
  let store: IdempotencyStore
  let keys = 0
  const completed = { state: 'completed', response } as const

  beforeAll(async () => {
    if (!(await PostgresServer.binaries())) return
    server = await PostgresServer.start()
    pool = new Pool({ connectionString: server.url })
    await migrate(pool)
    store = portOf(pool)
  })

  beforeEach(({ skip }) => {
    skip(!server, 'no postgres and initdb are on the PATH')
    keys++
  })

  afterAll(async () => {
    await pool?.end()
    await server?.[Symbol.asyncDispose]()
  })

  const subject = () => ({ scope: 'races', key: `key-${keys}` })
  const claim = (port: IdempotencyStore, owner: string) =>
    port.claim(subject(), claimOf(owner, { rerun: true }))
  const settle = (port: IdempotencyStore, owner: string) =>
    port.settle(subject(), ownerOf(owner), completed, lifetimes)

  test('P3: two claims: the second is in progress', async () => {
    const reply = await race(
      (first) => claim(first, 'a'),
      (second) => claim(second, 'b'),
    )
    expect(reply).toMatchObject({ state: 'in-progress' })
  })

  test('P3: two reruns: the second is in progress', async () => {
    await claim(store, 'a')
    await endLease()
    const reply = await race(
      (first) => claim(first, 'b'),
      (second) => claim(second, 'c'),
    )
    expect(reply).toMatchObject({ state: 'in-progress' })
    expect(await store.read(subject())).toMatchObject({ attempt: 2 })
  })

  test('P3: a claim that was rolled back leaves the key to the other', async () => {
    const reply = await race(
      (first) => claim(first, 'a'),
      (second) => claim(second, 'b'),
      'ROLLBACK',
    )
    expect(reply).toMatchObject({ state: 'started', attempt: 1 })
  })

  test('P3: a late owner that settles and a rerun: the rerun replays', async () => {
    await claim(store, 'a')
    await endLease()
    const reply = await race(
      (first) => settle(first, 'a'),
      (second) => claim(second, 'b'),
    )
    expect(reply).toEqual({ state: 'replay', response })
  })

  test('P3: a rerun and a late owner that settles: the late one is refused', async () => {
    await claim(store, 'a')
    await endLease()
    const reply = await race<SettleReply>(
      (first) => claim(first, 'b'),
      (second) => settle(second, 'a'),
    )
    expect(reply).toBe('refused')
    expect(await store.read(subject())).toMatchObject({ state: 'claimed', attempt: 2 })
  })

  test('P3: a rerun and a renewal by the owner before it: the lease is lost', async () => {
    await claim(store, 'a')
    await endLease()
    const reply = await race(
      (first) => claim(first, 'b'),
      (second) => second.renew(subject(), ownerOf('a'), lifetimes),
    )
    expect(reply).toBe(false)
  })

  test('P3: a claim and its own withdrawal: nothing is left of it', async () => {
    const reply = await race(
      (first) => claim(first, 'a'),
      (second) => second.settle(subject(), ownerOf('a'), { state: 'absent' }, lifetimes),
    )
    expect(reply).toBe('settled')
    expect(await store.read(subject())).toBeUndefined()
  })

  test('P3: a claim and the withdrawal of another one: the claim stays', async () => {
    const reply = await race(
      (first) => claim(first, 'a'),
      (second) => second.settle(subject(), ownerOf('b'), { state: 'absent' }, lifetimes),
    )
    expect(reply).toBe('refused')
    expect(await store.read(subject())).toMatchObject({ state: 'claimed' })
  })

  /** A renewal does not wait: what it sees is over. */
  async function race<Reply>(
    first: (port: IdempotencyStore) => Promise<unknown>,
    second: (port: IdempotencyStore) => Promise<Reply>,
    end: 'COMMIT' | 'ROLLBACK' = 'COMMIT',
  ): Promise<Reply> {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await first(portOf(client))
      const reply = second(store)
      const isSettled = reply.then(() => true)
      await eventually(async () => (await someoneWaits()) || Promise.race([isSettled, false]))
      await client.query(end)
      return await reply
    } finally {
      client.release()
    }
  }

  async function someoneWaits(): Promise<boolean> {
    const { rows } = await pool.query('SELECT 1 FROM pg_locks WHERE NOT granted')
    return rows.length > 0
  }

  async function endLease(): Promise<void> {
    await pool.query("UPDATE sluice.records SET lease_end = now() WHERE state = 'claimed'")
  }
})

/** A store whose statements go through one connection, where that is a client. */
function portOf(connection: Pool | PostgresClient): IdempotencyStore {
  const store = postgresStore({
    query: (text, values) => connection.query(text, values),
    connect: () => Promise.reject(new Error('no transactions here')),
  })
  return store.idempotency as IdempotencyStore
}
