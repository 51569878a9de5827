import { ConfigurationError, StaleFenceError } from '@sluice/core'
import { digestName } from '../digest.ts'
import { fenceSql } from '../generated/sql.ts'
import type { Queryable } from '../pool.ts'
import { checkSchema, codeOf, type SchemaOptions, within } from '../statements.ts'

/**
 * Refuses a writer that lost its lease: call it in the transaction that writes, with the fence of the lease or of the
 * idempotency key. One statement: it accepts a fence at least as high as the highest that was accepted for this
 * resource, and keeps others from being accepted until the transaction ends. Under REPEATABLE READ and SERIALIZABLE,
 * one that met a concurrent writer without being lower gets the database's own error 40001: run the transaction again.
 *
 * After an error the transaction can only be rolled back, and its savepoints may be gone.
 *
 * @throws StaleFenceError (`stale-fence`) for a lower fence; ConfigurationError (`configuration`) for a pool in place of
 * a client, an empty resource, or a fence that is no safe integer from 0; errors of the database.
 * @example
 * ```ts
 * import { guardFence } from '@sluice/postgres'
 * import type { PoolClient } from 'pg'
 *
 * async function pay(client: PoolClient, order: string, fence: number): Promise<void> {
 *   await client.query('BEGIN')
 *   await guardFence(client, `order:${order}`, fence)
 *   await client.query("UPDATE orders SET state = 'paid' WHERE id = $1", [order])
 *   await client.query('COMMIT')
 * }
 * ```
 */
export async function guardFence(
  client: Queryable,
  resource: string,
  fence: number,
  options: SchemaOptions = {},
): Promise<void> {
  const schema = checkSchema('guardFence', options)
  checkArguments(client, resource, fence)
  const accepted = await highest(client, schema, resource, fence)
  if (accepted > fence) throw new StaleFenceError(fence, accepted)
}

async function highest(
  client: Queryable,
  schema: string,
  resource: string,
  fence: number,
): Promise<number> {
  const id = digestName(resource)
  const forPeople = resource.slice(0, 200).replaceAll('\0', '')
  try {
    const { rows } = await client.query(within(schema, fenceSql.guard), [id, forPeople, fence])
    return Number(rows[0]?.['fence'])
  } catch (error) {
    if (codeOf(error) !== SERIALIZATION_FAILURE) throw error
    const accepted = await acceptedSince(client, schema, id)
    if (accepted > fence) throw new StaleFenceError(fence, accepted, error)
    throw error
  }
}

/** See sql/fence/lost-race.sql. The number comes in the message of an error, in quotes, in whatever language. */
async function acceptedSince(client: Queryable, schema: string, id: Buffer): Promise<number> {
  const sql = fenceSql.lostRace.replace('{id}', id.toString('hex'))
  try {
    await client.query(within(schema, sql))
  } catch (error) {
    return Number(/accepted:(\d+)/.exec(String(error))?.[1] ?? 0)
  }
  return 0
}

function checkArguments(client: Queryable, resource: unknown, fence: unknown): void {
  if ('totalCount' in client)
    throw new ConfigurationError(
      'guardFence',
      'client',
      client,
      'a client in a transaction, no pool',
    )
  if (typeof resource !== 'string' || resource === '')
    throw new ConfigurationError('guardFence', 'resource', resource, 'a non-empty string')
  if (!Number.isSafeInteger(fence) || Number(fence) < 0)
    throw new ConfigurationError('guardFence', 'fence', fence, 'a safe integer from 0')
}

const SERIALIZATION_FAILURE = '40001'
