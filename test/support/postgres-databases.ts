import { PGlite } from '@electric-sql/pglite'
import { type PostgresPool, pglitePool } from '@sluice/postgres'
import { Pool } from 'pg'
import { PostgresServer } from './postgres-server.ts'

/** A database as `RateLimiterPostgres` takes it (a pool of `pg`, or what looks like one), and as Sluice does. */
export interface Database extends AsyncDisposable {
  readonly pool: { query(query: Query): Promise<unknown> }
  readonly sluice: PostgresPool
}

interface Query {
  readonly text: string
  readonly values?: unknown[]
}

export interface DatabaseKind {
  readonly name: string
  /** Why it cannot be opened here. */
  readonly missing?: string
  open(): Promise<Database>
}

/** The embedded database, and a real server: the one that `DATABASE_URL` names, else one of the test's own. */
export async function databaseKinds(): Promise<readonly DatabaseKind[]> {
  return [{ name: 'PGlite', open: openPglite }, await realServer()]
}

async function realServer(): Promise<DatabaseKind> {
  const name = 'PostgreSQL'
  const url = process.env['DATABASE_URL']
  if (url) return { name, open: async () => openPool(url) }
  if (await PostgresServer.binaries()) return { name, open: openServer }
  const missing = 'no DATABASE_URL is set, and no postgres and initdb are on the PATH'
  return { name, missing, open: () => Promise.reject(new Error(missing)) }
}

async function openPglite(): Promise<Database> {
  const database = await PGlite.create()
  return {
    pool: { query: ({ text, values }) => database.query(text, values) },
    sluice: pglitePool(database),
    [Symbol.asyncDispose]: () => database.close(),
  }
}

async function openServer(): Promise<Database> {
  const server = await PostgresServer.start()
  const { [Symbol.asyncDispose]: endPool, ...pools } = openPool(server.url)
  return {
    ...pools,
    async [Symbol.asyncDispose]() {
      await endPool()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A pool of `pg`. */
export function openPool(connectionString: string): Database {
  const pool = new Pool({ connectionString, max: 4 })
  // Without a listener, a connection that breaks while it is idle ends the process.
  pool.on('error', () => {})
  return { pool, sluice: pool, [Symbol.asyncDispose]: () => pool.end() }
}
