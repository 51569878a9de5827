import { randomUUID } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import { type PostgresPool, pglitePool } from '@sluice/postgres'
import { Pool } from 'pg'
import { PostgresServer } from './postgres-server.ts'

/** A database as `RateLimiterPostgres` takes it (a pool of `pg`, or what looks like one), and as Sluice does. */
export interface Database extends AsyncDisposable {
  readonly pool: { query(query: Query): Promise<unknown> }
  readonly sluice: PostgresPool
  /** Of a server's. */
  readonly url?: string
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

/**
 * The embedded database, and one on a real server: that of `DATABASE_URL`, where a database is made for each and removed
 * again, else a server of the test's own.
 */
export async function databaseKinds(): Promise<readonly DatabaseKind[]> {
  return [{ name: 'PGlite', open: openPglite }, await realServer()]
}

async function realServer(): Promise<DatabaseKind> {
  const name = 'PostgreSQL'
  const url = process.env['DATABASE_URL']
  if (url) return { name, open: () => openFresh(url) }
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

async function openFresh(url: string): Promise<Database> {
  const name = `sluice_test_${randomUUID().replaceAll('-', '')}`
  const { sluice: admin, [Symbol.asyncDispose]: endAdmin } = openPool(url)
  await admin.query(`CREATE DATABASE ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  const { [Symbol.asyncDispose]: endPool, ...pools } = openPool(own.href)
  return {
    ...pools,
    async [Symbol.asyncDispose]() {
      await endPool()
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await endAdmin()
    },
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
  return {
    pool,
    sluice: pool,
    url: connectionString,
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
