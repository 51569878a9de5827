import { outboxSql } from '../generated/sql.ts'
import type { PostgresPool, Queryable, Row } from '../pool.ts'
import { bound, runAlone, within } from '../statements.ts'
import {
  type DeadMessage,
  decodeDead,
  decodeMessage,
  encodeError,
  type NewMessage,
  type OutboxMessage,
  valuesOf,
} from './message.ts'

/** What became of an attempt that failed. */
export interface Failure {
  readonly error: unknown
  readonly dueInMs: number
  readonly dead: boolean
  /** How many there were in which it could have been delivered. */
  readonly attempts: number
}

/** The statements of an outbox. `token` says which relay has a message. */
export class OutboxTable {
  readonly #pool: PostgresPool
  readonly #schema: string

  constructor(pool: PostgresPool, schema: string) {
    this.#pool = pool
    this.#schema = schema
  }

  async add(client: Queryable, message: NewMessage): Promise<string> {
    const values = valuesOf(message)
    const { rows } = await client.query(within(this.#schema, outboxSql.add), values)
    return String(rows[0]?.['id'])
  }

  async claim(token: string, leaseMs: number, atMost: number): Promise<readonly OutboxMessage[]> {
    return (await this.#run(outboxSql.claim, [token, leaseMs, atMost])).map(decodeMessage)
  }

  /** The next message of the aggregate, if it is wanted and due. */
  async deliver(
    { id }: OutboxMessage,
    token: string,
    leaseMs: number,
    next: boolean,
  ): Promise<OutboxMessage | undefined> {
    const [row] = await this.#run(outboxSql.deliver, [id, token, leaseMs, next])
    return row && decodeMessage(row)
  }

  async fail({ id }: OutboxMessage, token: string, how: Failure): Promise<void> {
    const { error, dueInMs, dead, attempts } = how
    await this.#run(outboxSql.fail, [id, token, dueInMs, encodeError(error), dead, attempts])
  }

  async extend({ id }: OutboxMessage, token: string, leaseMs: number): Promise<boolean> {
    return (await this.#run(outboxSql.extend, [id, token, leaseMs])).length === 1
  }

  async *dead(): AsyncGenerator<DeadMessage, void, undefined> {
    for (let after = '0'; ; ) {
      const page = (await this.#run(outboxSql.dead, [after, MESSAGES_A_PAGE])).map(decodeDead)
      yield* page
      if (page.length < MESSAGES_A_PAGE) return
      after = page.at(-1)?.id ?? after
    }
  }

  async redrive(id: string): Promise<boolean> {
    return (await this.#run(outboxSql.redrive, [id])).length === 1
  }

  async discard(id: string): Promise<boolean> {
    return (await this.#run(outboxSql.discard, [id])).length === 1
  }

  removeSome(batchSize: number, olderThanMs: number): Promise<readonly Row[]> {
    return this.#run(outboxSql.cleanup, [batchSize, olderThanMs])
  }

  #run(sql: string, values: unknown[]): Promise<readonly Row[]> {
    return runAlone(bound(this.#pool), within(this.#schema, sql), values)
  }
}

const MESSAGES_A_PAGE = 100
