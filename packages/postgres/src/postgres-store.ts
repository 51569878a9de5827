import { ConfigurationError, type Store } from '@sluice/core'
import { CircuitBreaker } from '@sluice/core/store-kit'
import { idempotencySql } from './generated/sql.ts'
import { PostgresIdempotencyStore } from './idempotency/store.ts'
import type { PostgresPool } from './pool.ts'
import { checkSchema, type SchemaOptions, within } from './statements.ts'

/**
 * A store of idempotency records in PostgreSQL, in the tables that {@link migrate} makes. It keeps no quotas, locks or
 * tasks. The pool stays yours; a process that waits for answers uses as many of its connections as it has calls under way.
 *
 * @throws ConfigurationError (`configuration`) for what is no pool, or an option that is unknown or out of range.
 * @example
 * ```ts
 * import { createIdempotency } from '@sluice/core'
 * import { migrate, postgresStore } from '@sluice/postgres'
 * import { Pool } from 'pg'
 *
 * const pool = new Pool({ connectionString: process.env['DATABASE_URL'] })
 * await migrate(pool)
 * const idempotency = createIdempotency({ store: postgresStore(pool) })
 * ```
 */
export function postgresStore(pool: PostgresPool, options: SchemaOptions = {}): Store {
  const schema = checkSchema('postgresStore', options)
  checkPool('postgresStore', pool)
  const circuit = new CircuitBreaker(() => pool.query(within(schema, idempotencySql.probe), []))
  return {
    get rateLimit(): never {
      throw new ConfigurationError(
        'rateLimit',
        'store',
        'a postgresStore',
        'a store that keeps quotas: memoryStore() or redisStore(client)',
      )
    },
    idempotency: new PostgresIdempotencyStore(pool, schema),
    circuit,
    close: async () => circuit.close(),
  }
}

/** @throws ConfigurationError (`configuration`) */
export function checkPool(owner: string, pool: unknown): void {
  const methods = ['query', 'connect'] as const
  const fits =
    typeof pool === 'object' &&
    pool !== null &&
    methods.every((name) => typeof Reflect.get(pool, name) === 'function')
  if (!fits)
    throw new ConfigurationError(owner, 'pool', pool, 'a pool of pg, or pglitePool(database)')
}
