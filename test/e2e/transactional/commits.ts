import { EventEmitter, once } from 'node:events'
import { createIdempotency, memoryStore } from '@sluice/core'
import { type PostgresClient, type PostgresPool, postgresStore } from '@sluice/postgres'
import { expect, test } from 'vitest'
import { problemCode } from '../idempotency/client.ts'
import {
  answerAfter,
  order,
  type TransactionalUnderTest,
  transaction,
} from './transactional-under-test.ts'

/** What is committed, and what of it is remembered. */
export function commitTests(at: TransactionalUnderTest): void {
  test('P4: a response that is too long to keep leaves a tombstone', async () => {
    await using app = await at.serve(answerAfter, { maxBodyBytes: 3 })
    expect((await at.post(app.site)).status).toBe(201)
    const again = await at.post(app.site)
    expect(problemCode(again)).toBe('idempotency-result-not-replayable')
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4: a run outside of HTTP commits its result with its writes', async () => {
    const idempotency = createIdempotency(at.transactional())
    const request = { key: `job ${at.key}`, fingerprint: 'x' }
    const begun = await idempotency.begin(request)
    if (begun.state !== 'started') throw new Error(begun.state)
    const { client, commit } = await begun.execution.transaction()
    await order(client as PostgresClient, 'book')
    await commit({ status: 200, headers: [], body: 'done' })
    expect(await idempotency.begin(request)).toMatchObject({ state: 'replay' })
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4: a commit whose reply was lost is 503, and a retry gets the result', async () => {
    const losing: PostgresPool = {
      query: (text, values) => at.pool.query(text, values),
      connect: async () => {
        const client = await at.pool.connect()
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
    await using app = await at.serve(answerAfter, { store: postgresStore(losing) })
    const first = await at.post(app.site)
    expect(problemCode(first)).toBe('idempotency-not-committed')
    const again = await at.post(app.site)
    expect(again).toMatchObject({ status: 201, text: '{"item":"book"}' })
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4, P5: behind a fast store, what was committed is replayed by that', async () => {
    const authority = postgresStore(at.pool)
    await using app = await at.serve(answerAfter, { store: memoryStore(), authority })
    expect((await at.post(app.site)).status).toBe(201)
    await at.pool.query('TRUNCATE sluice.records')
    const again = await at.post(app.site)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(await at.orders()).toEqual(['book'])
  })
}

/** Needs two connections at once. */
export function companyTests(at: TransactionalUnderTest): void {
  test('P4: an owner whose key was claimed by somebody else commits nothing', async () => {
    await using app = await at.serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      await at.pool.query(
        "UPDATE sluice.records SET owner = 'somebody else' WHERE state = 'claimed'",
      )
      turn.json('fine')
    })
    expect((await at.post(app.site)).status).toBe(503)
    expect(await at.orders()).toEqual([])
  })

  test('P4: a connection that breaks before the commit is 503, and a retry runs', async () => {
    let broken = false
    await using app = await at.serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
        const pid = rows[0]?.['pid']
        if (!broken) await at.pool.query('SELECT pg_terminate_backend($1)', [pid])
        broken = true
        // Long enough for the process to hear of it while no statement is under way.
        for (let question = 0; question < 10; question++) await at.pool.query('SELECT 1')
      })
      turn.json('fine')
    })
    expect((await at.post(app.site)).status).toBe(503)
    expect(await at.orders()).toEqual([])
    const retried = await at.post(app.site)
    expect(retried.headers['idempotency-replayed']).toBeUndefined()
    expect(retried.status).toBe(200)
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4: while a transaction is open a copy of its request is in progress', async () => {
    const gate = new EventEmitter()
    await using app = await at.serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        gate.emit('inside')
        await once(gate, 'leave')
      })
      turn.json('fine')
    })
    const isInside = once(gate, 'inside')
    const first = at.post(app.site)
    await isInside
    expect(problemCode(await at.post(app.site))).toBe('idempotency-in-progress')
    gate.emit('leave')
    expect((await first).status).toBe(200)
    expect(await at.orders()).toEqual(['book'])
  })
}
