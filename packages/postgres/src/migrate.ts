import { checkOptions, integer, withDefaults } from '@sluice/core/store-kit'
import { checkOut, giveBack } from './checked-out.ts'
import { migrations } from './generated/sql.ts'
import type { PostgresClient, PostgresPool, Queryable } from './pool.ts'
import { checkSchema, type SchemaOptions, schemaRule, within } from './statements.ts'

/**
 * Creates Sluice's tables, or brings them up to date. Safe from several processes at once: one does it, the others
 * wait. All in one transaction; where nothing is to be done, one query and no lock, and no right to create anything is
 * needed. Tables that are newer than this version are left as they are.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or out of range, and errors of the database.
 * @example
 * ```ts
 * import { migrate } from '@sluice/postgres'
 * import { Pool } from 'pg'
 *
 * await migrate(new Pool({ connectionString: process.env['DATABASE_URL'] }))
 * ```
 */
export async function migrate(pool: PostgresPool, options: SchemaOptions = {}): Promise<void> {
  const schema = checkSchema('migrate', options)
  if ((await versionOf(pool, schema)) >= migrations.length) return
  const client = await checkOut(pool)
  try {
    await inTransaction(client, async () => {
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
        `sluice migrations ${schema}`,
      ])
      const from = await versionOf(client, schema)
      if (from < migrations.length) await client.query(stepsFrom(from, schema))
    })
  } catch (error) {
    giveBack(client, true)
    throw error
  }
  giveBack(client, false)
}

/** Options of {@link migrationSql}. */
export interface MigrationSqlOptions extends SchemaOptions {
  /** The version that is there already: an integer from 0; default 0, nothing. */
  readonly from?: number | undefined
}

/**
 * The SQL that {@link migrate} would run, for people who run their own migrations: several statements, to be run once,
 * in one transaction. It notes its versions, so {@link migrate} and later versions know where to go on.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or out of range.
 * @example
 * ```ts
 * import { writeFileSync } from 'node:fs'
 * import { migrationSql } from '@sluice/postgres'
 *
 * writeFileSync('migrations/20260101_sluice.sql', migrationSql())
 * ```
 */
export function migrationSql(options: MigrationSqlOptions = {}): string {
  const rules = { schema: schemaRule, from: integer(0, migrations.length) }
  const { schema, from } = withDefaults(checkOptions('migrationSql', options, rules), {
    schema: 'sluice',
    from: 0,
  })
  return stepsFrom(from, schema)
}

function stepsFrom(from: number, schema: string): string {
  const steps = migrations
    .map(
      (sql, index) =>
        `${sql.trim()}\nINSERT INTO sluice.migrations (version) VALUES (${index + 1});\n`,
    )
    .slice(from)
  return within(
    schema,
    `${from === 0 ? FOUNDATION.replace('{schema}', `"${schema}"`) : ''}${steps.join('\n')}`,
  )
}

const FOUNDATION = `CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE sluice.migrations (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);

`

/** It reads the catalog as a table: what `to_regclass` knows may be older than the lock that was just taken. */
async function versionOf(database: Queryable, schema: string): Promise<number> {
  const found = await database.query(
    "SELECT count(*) AS found FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations'",
    [schema],
  )
  if (Number(found.rows[0]?.['found']) === 0) return 0
  const { rows } = await database.query(
    within(schema, 'SELECT coalesce(max(version), 0) AS version FROM sluice.migrations'),
    [],
  )
  return Number(rows[0]?.['version'])
}

async function inTransaction(client: PostgresClient, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  await work()
  await client.query('COMMIT')
}
