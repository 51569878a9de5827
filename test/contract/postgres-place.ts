import { randomUUID } from 'node:crypto'
import type { IdempotencyStore } from '@sluice/core'
import { migrate, type PostgresPool, postgresStore } from '@sluice/postgres'
import type { Database } from '../support/postgres-databases.ts'
import type { Place } from './idempotency-store/key-under-test.ts'

/** A store in a schema of its own, under a database whose clock seems to be ahead. */
export async function postgresPlace(database: Database): Promise<Place> {
  const schema = `test_${randomUUID().replaceAll('-', '')}`
  const clock = new ShiftedClock(database.sluice)
  await migrate(database.sluice, { schema })
  const store = postgresStore(clock, { schema })
  return {
    store: store.idempotency as IdempotencyStore,
    advance: (ms) => clock.advance(ms),
    async [Symbol.asyncDispose]() {
      await store.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Hours pass in no time: statements are sent with an offset to the clock in their text. Real time goes on below it. */
class ShiftedClock implements PostgresPool {
  readonly #pool: PostgresPool
  #offsetMs = 0

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  async advance(ms: number): Promise<void> {
    this.#offsetMs += ms
  }

  query(text: string, values?: unknown[]) {
    const shifted = `(clock_timestamp() + interval '${this.#offsetMs} milliseconds')`
    return this.#pool.query(text.replaceAll('clock_timestamp()', shifted), values)
  }

  connect() {
    return this.#pool.connect()
  }
}
