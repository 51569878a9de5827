import { checkOptions, integer, type Rule, withDefaults } from '@sluice/core/store-kit'
import { idempotencySql } from './generated/sql.ts'
import type { PostgresPool } from './pool.ts'
import { checkPool } from './postgres-store.ts'
import { bound, runAlone, type SchemaOptions, schemaRule, within } from './statements.ts'

/** Options of {@link cleanup}. */
export interface CleanupOptions extends SchemaOptions {
  /** Rows that one statement removes at most: an integer from 1 to 100,000; default 1000. */
  readonly batchSize?: number | undefined
}

/**
 * Removes idempotency records that have expired, in small batches, and says how many. They count for nothing before
 * that, so it is for the disk's sake alone: call it every few minutes. Safe to run everywhere at once: nobody waits for
 * anybody. Of fences it removes none.
 *
 * @throws ConfigurationError (`configuration`) for what is no pool, or an option that is unknown or out of range; errors
 * of the database.
 * @example
 * ```ts
 * import { cleanup } from '@sluice/postgres'
 * import { Pool } from 'pg'
 *
 * const pool = new Pool({ connectionString: process.env['DATABASE_URL'] })
 * setInterval(() => cleanup(pool).catch(console.error), 300_000).unref()
 * ```
 */
export async function cleanup(pool: PostgresPool, options: CleanupOptions = {}): Promise<number> {
  const rules = { schema: schemaRule, batchSize: batchSizeRule }
  const { schema, batchSize } = withDefaults(checkOptions('cleanup', options, rules), {
    schema: 'sluice',
    batchSize: DEFAULT_BATCH_SIZE,
  })
  checkPool('cleanup', pool)
  const sql = within(schema, idempotencySql.cleanup)
  return inBatches(batchSize, () => runAlone(bound(pool), sql, [batchSize]))
}

/** Until a batch is not full. */
export async function inBatches(
  batchSize: number,
  removeSome: () => ReturnType<typeof runAlone>,
): Promise<number> {
  let total = 0
  for (;;) {
    const [row] = await removeSome()
    const removed = Number(row?.['removed'])
    total += removed
    if (removed < batchSize) return total
  }
}

export const DEFAULT_BATCH_SIZE = 1000

export const batchSizeRule: Rule = integer(1, 100_000)
