import { idempotency } from '@sluice/express'
import { type PostgresClient, type PostgresPool, postgresStore } from '@sluice/postgres'
import express, { type Express } from 'express'

export const TABLES = `
  CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY, key text);
  CREATE TABLE charges (key text);
  CREATE TABLE accounts (name text PRIMARY KEY, balance integer);
  INSERT INTO accounts VALUES ('ann', 0)`

/** Takes orders: each is a row, a charge, and money of an account. */
export function shop(pool: PostgresPool): Express {
  const store = postgresStore(pool)
  const app = express()
  app.use(express.json())
  app.use(idempotency({ store, transactional: true, timeoutMs: 10_000 }))
  app.post('/orders', async (req, res) => {
    const { key, transaction } = req.idempotency ?? {}
    if (!transaction) throw new Error('not protected')
    const order = await transaction(async (client: PostgresClient) => {
      const { rows } = await client.query('INSERT INTO orders (key) VALUES ($1) RETURNING id', [
        key,
      ])
      await client.query("UPDATE accounts SET balance = balance - 5 WHERE name = 'ann'")
      await client.query('INSERT INTO charges VALUES ($1)', [key])
      return Number(rows[0]?.['id'])
    })
    res.status(201).json({ order })
  })
  return app
}

/** Has the leases of owners that died end now: nobody wants to wait for them. */
export async function endLeases(pool: PostgresPool, key: string): Promise<void> {
  await pool.query(
    `UPDATE sluice.records SET lease_end = clock_timestamp()
     WHERE state = 'claimed' AND subject::json ->> 1 = $1`,
    [key],
  )
}

/** What happened for a key. */
export async function happened(pool: PostgresPool, key: string) {
  const count = async (table: string) => {
    const { rows } = await pool.query(`SELECT count(*) AS n FROM ${table} WHERE key = $1`, [key])
    return Number(rows[0]?.['n'])
  }
  return { orders: await count('orders'), charges: await count('charges') }
}
