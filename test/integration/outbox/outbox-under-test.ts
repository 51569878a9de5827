import { randomUUID } from 'node:crypto'
import {
  type DeadMessage,
  migrate,
  type Outbox,
  type OutboxMessage,
  type OutboxOptions,
  outbox,
  type PostgresClient,
  type PostgresPool,
  type Relay,
  type RelayOptions,
} from '@sluice/postgres'
import { expect } from 'vitest'
import type { Database } from '../../support/postgres-databases.ts'

/** An outbox in a schema of its own for each test, in the database under test. */
export class OutboxUnderTest {
  schema = ''
  readonly published: OutboxMessage[] = []
  readonly #relays: Relay[] = []
  #database: Database | undefined

  get pool(): PostgresPool {
    if (!this.#database) throw new Error('not open')
    return this.#database.sluice
  }

  open(database: Database): void {
    this.#database = database
  }

  async renew(): Promise<void> {
    this.schema = `test_${randomUUID().replaceAll('-', '')}`
    await migrate(this.pool, { schema: this.schema })
    this.published.length = 0
  }

  async clear(): Promise<void> {
    await this.closeRelays()
    if (this.#database) await this.pool.query(`DROP SCHEMA "${this.schema}" CASCADE`)
  }

  async close(): Promise<void> {
    await this.#database?.[Symbol.asyncDispose]()
  }

  make(options: Pick<OutboxOptions, 'publish' | 'maxAttempts' | 'backoff'>): Outbox {
    return outbox(this.pool, { schema: this.schema, ...options })
  }

  /** Closed behind the test. */
  start(box: Outbox, options: RelayOptions = {}): Relay {
    const relay = box.relay({ pollMs: 20, ...options })
    this.#relays.push(relay)
    return relay
  }

  async closeRelays(): Promise<void> {
    await Promise.all(this.#relays.splice(0).map((relay) => relay.close()))
  }

  readonly keep = (message: OutboxMessage): void => {
    this.published.push(message)
  }

  payloads(aggregate: string): unknown[] {
    return this.published
      .filter((message) => message.aggregate === aggregate)
      .map(({ payload }) => payload)
  }

  async deadOf(box: Outbox, atLeast: number): Promise<DeadMessage[]> {
    const dead: DeadMessage[] = []
    for await (const message of box.dead.list()) dead.push(message)
    expect(dead.length).toBeGreaterThanOrEqual(atLeast)
    return dead
  }

  async add(box: Outbox, aggregate: string, ...messages: unknown[]): Promise<string[]> {
    const ids: string[] = []
    await this.inTransaction(async (client) => {
      for (const payload of messages)
        ids.push(await box.add(client, { aggregate, type: 't', payload }))
    })
    return ids
  }

  async inTransaction(work: (client: PostgresClient) => Promise<void>): Promise<void> {
    const client = await this.pool.connect()
    try {
      await client.query('BEGIN')
      await work(client)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }

  async counts() {
    const { rows } = await this.pool.query(
      `SELECT count(delivered_at) AS delivered, count(*) - count(delivered_at) AS pending
       FROM "${this.schema}".outbox`,
    )
    return { delivered: Number(rows[0]?.['delivered']), pending: Number(rows[0]?.['pending']) }
  }
}
