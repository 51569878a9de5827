/** A row as drivers give it. */
export type Row = Readonly<Record<string, unknown>>

/** What runs a statement: a pool or a client of `pg`, and its like. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly Row[] }>
}

/** One connection of a {@link PostgresPool}, where a transaction is begun and ended by statements. */
export interface PostgresClient extends Queryable {
  /** Gives the connection back; with an error, or true, it is closed instead. */
  release(error?: Error | boolean): void
  on?(event: 'error', listener: (error: Error) => void): unknown
  off?(event: 'error', listener: (error: Error) => void): unknown
}

/** A pool of `pg`, or what {@link pglitePool} makes of a PGlite. It stays yours: make it, listen to its errors, end it. */
export interface PostgresPool extends Queryable {
  connect(): Promise<PostgresClient>
}
