import { StaleFenceError } from '@sluice/core'
import { guardFence, migrate, type PostgresPool } from '@sluice/postgres'
import { openDatabase } from './support/database.ts'

const pool = await openDatabase()
await migrate(pool)
await pool.query(
  `DROP TABLE IF EXISTS example_prices;
   CREATE TABLE example_prices (item text PRIMARY KEY, price integer);
   INSERT INTO example_prices VALUES ('book', 10)`,
)

// #region guard
/** `fence` is that of the lease or of the execution under which this runs. */
async function setPrice(pool: PostgresPool, item: string, price: number, fence: number) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await guardFence(client, `price:${item}`, fence)
    await client.query('UPDATE example_prices SET price = $1 WHERE item = $2', [price, item])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
// #endregion

const fence = Date.now() // that of an owner
await setPrice(pool, 'book', 12, fence)
await setPrice(pool, 'book', 14, fence + 1) // of the next one
try {
  await setPrice(pool, 'book', 13, fence) // the first one again, which had stood still
} catch (error) {
  if (!(error instanceof StaleFenceError)) throw error
  console.log(`refused: ${error.acceptedFence - error.fence} owner too late`)
}
const { rows } = await pool.query('SELECT price FROM example_prices')
console.log('price:', rows[0]?.['price'])
await pool.close()
