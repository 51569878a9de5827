import { once } from 'node:events'
import { createIdempotency, memoryStore } from '@sluice/core'
import type { PostgresClient } from '@sluice/postgres'
import { expect, test } from 'vitest'
import { order, type TransactionalUnderTest, transaction } from './transactional-under-test.ts'

/** What a handler may do with the transaction. */
export function clientTests(at: TransactionalUnderTest): void {
  test('P4: a statement that failed and was ignored spoils the transaction', async () => {
    await using app = await at.serve(async (turn) => {
      await transaction(turn, async (client) => {
        await order(client, 'book')
        await client.query('SELECT 1 / 0').catch(() => {})
      })
      turn.json('fine')
    })
    expect((await at.post(app.site)).status).toBe(503)
    expect(await at.orders()).toEqual([])
  })

  test('P4: several callbacks share one transaction', async () => {
    await using app = await at.serve(async (turn) => {
      await transaction(turn, (client) => order(client, 'book'))
      await transaction(turn, (client) => order(client, 'pen'))
      turn.json('both')
    })
    expect((await at.post(app.site)).status).toBe(200)
    expect(await at.orders()).toEqual(['book', 'pen'])
  })

  test('P4: work that outlives maxRunMs is rolled back, and can do nothing any more', async () => {
    const errors: unknown[] = []
    await using app = await at.serve(
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
    expect((await at.post(app.site)).status).toBe(200)
    expect(errors).toHaveLength(1)
    expect(await at.orders()).toEqual([])
  })

  test('P4: the client can neither be released nor end the transaction', async () => {
    const refused: string[] = []
    await using app = await at.serve(async (turn) => {
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
    expect((await at.post(app.site)).status).toBe(200)
    expect(refused).toHaveLength(6)
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4: the client is of no use once the response was sent', async () => {
    let kept: PostgresClient | undefined
    await using app = await at.serve(async (turn) => {
      await transaction(turn, (client) => {
        kept = client
        return order(client, 'book')
      })
      turn.json('fine')
    })
    await at.post(app.site)
    expect(() => kept?.query("INSERT INTO orders VALUES ('pen')")).toThrow('revoked')
    expect(await at.orders()).toEqual(['book'])
  })

  test('P4: transaction() needs `transactional`, and that a store with transactions', async () => {
    let error: unknown
    await using app = await at.serve(
      async (turn) => {
        error = await transaction(turn, () => {}).catch((caught: unknown) => caught)
        turn.json('fine')
      },
      { transactional: false },
    )
    expect((await at.post(app.site)).status).toBe(200)
    expect(error).toMatchObject({ code: 'configuration', option: 'transactional' })
    expect(() => createIdempotency({ store: memoryStore(), transactional: true })).toThrow(
      'postgresStore',
    )
  })
}
