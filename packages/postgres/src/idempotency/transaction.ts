import type { Lifetimes, Settlement, StoreTransaction, Subject } from '@sluice/core'
import { checkOut, giveBack } from '../checked-out.ts'
import { idempotencySql } from '../generated/sql.ts'
import type { PostgresClient, PostgresPool } from '../pool.ts'
import { within } from '../statements.ts'
import { LentClient } from './lent-client.ts'
import { decodeSettle } from './replies.ts'
import { settlementValues } from './values.ts'

/** A transaction on a connection of the pool, for an application's writes and the end of a claim. */
export class PostgresTransaction implements StoreTransaction {
  readonly #client: PostgresClient
  readonly #schema: string
  readonly #lent: LentClient
  readonly #onCommitted: (subject: Subject, settlement: Settlement) => void
  #ended = false

  private constructor(
    client: PostgresClient,
    schema: string,
    onCommitted: (subject: Subject, settlement: Settlement) => void,
  ) {
    this.#client = client
    this.#schema = schema
    this.#lent = new LentClient(client)
    this.#onCommitted = onCommitted
  }

  static async begin(
    pool: PostgresPool,
    schema: string,
    onCommitted: (subject: Subject, settlement: Settlement) => void,
  ): Promise<PostgresTransaction> {
    const client = await checkOut(pool)
    try {
      await client.query('BEGIN')
    } catch (error) {
      giveBack(client, true)
      throw error
    }
    return new PostgresTransaction(client, schema, onCommitted)
  }

  get client(): unknown {
    return this.#lent.client
  }

  async commit(
    subject: Subject,
    owner: string,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): Promise<'settled' | 'refused'> {
    this.#end()
    try {
      const isOurs = await this.#settle(settlementValues(subject, owner, settlement, lifetimes))
      await this.#client.query(isOurs ? 'COMMIT' : 'ROLLBACK')
      giveBack(this.#client, false)
      if (!isOurs) return 'refused'
    } catch (error) {
      giveBack(this.#client, true)
      throw error
    }
    this.#onCommitted(subject, settlement)
    return 'settled'
  }

  async rollback(busy: boolean): Promise<void> {
    if (this.#ended) return
    this.#end()
    if (busy) return giveBack(this.#client, true)
    await this.#client.query('ROLLBACK').then(
      () => giveBack(this.#client, false),
      () => giveBack(this.#client, true),
    )
  }

  /** In the transaction: it fails if a statement before has failed, and its row stays locked until the end. */
  async #settle(values: unknown[]): Promise<boolean> {
    const sql = within(this.#schema, idempotencySql.settle)
    for (;;) {
      const [row] = (await this.#client.query(sql, values)).rows
      if (row) return decodeSettle(row) !== 'refused'
    }
  }

  #end(): void {
    this.#ended = true
    this.#lent.takeBack()
  }
}
