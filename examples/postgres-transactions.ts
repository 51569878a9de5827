// #region app
import { idempotency } from '@sluice/express'
import { migrate, type PostgresClient, postgresStore } from '@sluice/postgres'
import express from 'express'
// #endregion
import { openDatabase } from './support/database.ts'
import { tryOut } from './support/try-out.ts'

const pool = await openDatabase()
await pool.query(
  `DROP TABLE IF EXISTS example_payments, example_accounts;
   CREATE TABLE example_payments (id bigint GENERATED ALWAYS AS IDENTITY, amount integer);
   CREATE TABLE example_accounts (name text, balance integer CHECK (balance >= 0));
   INSERT INTO example_accounts VALUES ('ann', 1000)`,
)

// #region app
await migrate(pool)

const app = express()
app.use(express.json())
app.use(
  idempotency({
    store: postgresStore(pool),
    transactional: true,
    required: true,
    scope: (req) => req.get('Authorization') ?? 'nobody', // yours: the user whom you authenticated
  }),
)
app.post('/payments', async (req, res) => {
  const { amount } = req.body
  const payment = await req.idempotency?.transaction(async (client: PostgresClient) => {
    await client.query("UPDATE example_accounts SET balance = balance - $1 WHERE name = 'ann'", [
      amount,
    ])
    const { rows } = await client.query(
      'INSERT INTO example_payments (amount) VALUES ($1) RETURNING id',
      [amount],
    )
    return Number(rows[0]?.['id'])
  })
  res.status(201).json({ payment, amount }) // committed with this answer, or not at all
})
// #endregion
app.use((_error: unknown, _req: express.Request, res: express.Response, _next: unknown) => {
  res.status(402).json({ error: 'not enough money' })
})

const pay = (key: string, amount: number): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
  body: JSON.stringify({ amount }),
})

const run = Date.now() // a server remembers earlier runs
await tryOut(app, async (ask) => {
  console.log(await ask('/payments', pay(`order-7-${run}`, 600)))
  console.log(await ask('/payments', pay(`order-7-${run}`, 600))) // a retry
  console.log(await ask('/payments', pay(`order-8-${run}`, 600))) // rolled back: the key is free
  await pool.query("UPDATE example_accounts SET balance = 700 WHERE name = 'ann'")
  console.log(await ask('/payments', pay(`order-8-${run}`, 600))) // so this retry runs
  const { rows } = await pool.query(
    'SELECT count(*)::int AS payments, (SELECT balance FROM example_accounts) FROM example_payments',
  )
  console.log(rows[0])
})
await pool.close()
