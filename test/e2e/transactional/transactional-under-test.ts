import { migrate, type PostgresClient, type PostgresPool, postgresStore } from '@sluice/postgres'
import type { Site } from '../../support/http.ts'
import type { Database } from '../../support/postgres-databases.ts'
import { type AppOptions, type Framework, frameworks } from '../idempotency/apps.ts'
import { type Answer, type PostOptions, post } from '../idempotency/client.ts'
import type { Handler, Turn } from '../idempotency/turns.ts'

/** A shop in the database under test: orders, and records beside them; a fresh key for each test. */
export class TransactionalUnderTest {
  key = 0
  #database: Database | undefined

  get pool(): PostgresPool {
    if (!this.#database) throw new Error('not open')
    return this.#database.sluice
  }

  async open(database: Database): Promise<void> {
    this.#database = database
    await migrate(this.pool)
    // Checked by COMMIT.
    await this.pool.query('CREATE TABLE orders (item text UNIQUE DEFERRABLE INITIALLY DEFERRED)')
  }

  async renew(): Promise<void> {
    await this.pool.query('TRUNCATE orders')
    this.key++
  }

  async close(): Promise<void> {
    await this.#database?.[Symbol.asyncDispose]()
  }

  serve(
    handler: Handler,
    options: Partial<AppOptions> = {},
    framework: Framework = frameworks[0] as Framework,
  ) {
    return framework.serve({ ...this.transactional(), ...options, handler })
  }

  post(site: Site, options: PostOptions = {}): Promise<Answer> {
    return post(site, { key: `"${this.key}"`, ...options })
  }

  transactional() {
    return { store: postgresStore(this.pool), transactional: true, timeoutMs: 10_000 }
  }

  async orders(): Promise<unknown[]> {
    const { rows } = await this.pool.query('SELECT item FROM orders ORDER BY item')
    return rows.map(({ item }) => item)
  }
}

export function transaction<Result>(
  { idempotency }: Turn,
  work: (client: PostgresClient) => Result | Promise<Result>,
): Promise<Result> {
  if (!idempotency) throw new Error('not protected')
  return idempotency.transaction(work)
}

export async function order(client: PostgresClient, item: string): Promise<void> {
  await client.query('INSERT INTO orders VALUES ($1)', [item])
}

export async function answerAfter(turn: Turn): Promise<void> {
  await transaction(turn, (client) => order(client, 'book'))
  turn.status(201)
  turn.json({ item: 'book' })
}

export async function answerInside(turn: Turn): Promise<void> {
  await transaction(turn, async (client) => {
    turn.status(201)
    turn.json({ item: 'book' })
    await order(client, 'book')
  })
}
