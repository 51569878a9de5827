import type { PostgresClient, PostgresPool, Row } from './pool.ts'

/** What is used of a PGlite. */
export interface PgliteLike {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  exec(text: string): Promise<readonly { readonly rows: readonly unknown[] }[]>
}

/**
 * A pool of one connection, made of a PGlite: for tests, demos and tools without a server. Whoever connected has the
 * database to itself until it releases it, so ask the pool alone: what asks the PGlite itself lands in the midst of
 * other people's transactions. Two pools of one PGlite wait for each other.
 *
 * @example
 * ```ts
 * import { PGlite } from '@electric-sql/pglite'
 * import { migrate, pglitePool } from '@sluice/postgres'
 *
 * const pool = pglitePool(await PGlite.create())
 * await migrate(pool)
 * ```
 */
export function pglitePool(database: PgliteLike): PostgresPool {
  return {
    query: async (text, values) => {
      const leave = await enter(database)
      try {
        return await run(database, text, values)
      } finally {
        leave()
      }
    },
    connect: async () => new PgliteClient(database, await enter(database)),
  }
}

class PgliteClient implements PostgresClient {
  readonly #database: PgliteLike
  readonly #leave: () => void
  #released = false

  constructor(database: PgliteLike, leave: () => void) {
    this.#database = database
    this.#leave = leave
  }

  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly Row[] }> {
    if (this.#released) return Promise.reject(new Error('the client was released'))
    return run(this.#database, text, values)
  }

  /** With an error, a server would end the connection, and what was not committed with it. */
  release(error?: Error | boolean): void {
    if (this.#released) return
    this.#released = true
    if (error) void this.#database.exec('ROLLBACK').then(this.#leave, this.#leave)
    else this.#leave()
  }
}

/** Without values there may be several statements, as in `pg`; the last one's rows are told. */
async function run(
  database: PgliteLike,
  text: string,
  values: unknown[] | undefined,
): Promise<{ readonly rows: readonly Row[] }> {
  const result = values ? await database.query(text, values) : (await database.exec(text)).at(-1)
  return { rows: (result?.rows ?? []) as readonly Row[] }
}

/** Waits for its turn; resolves with the function that ends it. */
async function enter(database: PgliteLike): Promise<() => void> {
  const before = queues.get(database) ?? Promise.resolve()
  let leave = (): void => {}
  const turn = new Promise<void>((resolve) => {
    leave = resolve
  })
  queues.set(
    database,
    before.then(() => turn),
  )
  await before
  return leave
}

const queues = new WeakMap<PgliteLike, Promise<void>>()
