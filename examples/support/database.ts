import { PGlite } from '@electric-sql/pglite'
import { type PostgresPool, pglitePool } from '@sluice/postgres'
import { Pool } from 'pg'

/** The server that DATABASE_URL names, else a database in this process. */
export async function openDatabase(): Promise<PostgresPool & { close(): Promise<void> }> {
  const url = process.env['DATABASE_URL']
  if (url) {
    const pool = new Pool({ connectionString: url })
    return Object.assign(pool, { close: () => pool.end() })
  }
  const database = await PGlite.create()
  return { ...pglitePool(database), close: () => database.close() }
}
