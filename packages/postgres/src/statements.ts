import { checkOptions, type Rule } from '@sluice/core/store-kit'
import type { Queryable, Row } from './pool.ts'

/** Where Sluice's tables are. */
export interface SchemaOptions {
  /**
   * The schema of the tables: lower-case letters, digits and underscores, at most 63; default `'sluice'`. The same one
   * everywhere; applications that share a database and nothing else take one each.
   */
  readonly schema?: string | undefined
}

export const schemaRule: Rule = {
  expected: 'a string of 1 to 63 of the characters a-z 0-9 _, not beginning with a digit or pg_',
  accepts: (value) => typeof value === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(value),
}

/** @throws ConfigurationError (`configuration`) */
export function checkSchema(owner: string, options: SchemaOptions): string {
  return checkOptions(owner, options, { schema: schemaRule }).schema ?? 'sluice'
}

/** SQL of ours, for a schema. */
export function within(schema: string, sql: string): string {
  return schema === 'sluice' ? sql : sql.replaceAll('sluice.', `"${schema}".`)
}

/**
 * Runs a statement that is a transaction of its own. What lost against another one has changed nothing, so it is sent
 * again: a database may be set to isolate more than it does by default.
 */
export async function runAlone(
  { query }: BoundQuery,
  text: string,
  values: unknown[],
): Promise<readonly Row[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await query(text, values)).rows
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isLostRace(error)) throw error
    }
  }
}

/** A pool whose `query` may be called by itself. */
export interface BoundQuery {
  readonly query: Queryable['query']
}

export function bound(pool: Queryable): BoundQuery {
  return { query: (text, values) => pool.query(text, values) }
}

/** A serialization failure or a deadlock: the database asks for another attempt. */
function isLostRace(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/** The SQLSTATE of an error of the database. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
}

const MOST_ATTEMPTS = 20
