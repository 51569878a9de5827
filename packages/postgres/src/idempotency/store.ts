import type {
  Claim,
  ClaimReply,
  IdempotencyRecord,
  IdempotencyStore,
  Lifetimes,
  Settlement,
  SettleReply,
  StoreTransaction,
  Subject,
  UnknownPage,
} from '@sluice/core'
import { Wakeups, type Watch } from '@sluice/core/store-kit'
import { idempotencySql } from '../generated/sql.ts'
import type { PostgresPool, Row } from '../pool.ts'
import { bound, runAlone, within } from '../statements.ts'
import { decodeClaim, decodeRecord, decodeSettle, decodeUnknown } from './replies.ts'
import { PostgresTransaction } from './transaction.ts'
import { idOf, nameOf, settlementValues } from './values.ts'

/**
 * Keeps records in PostgreSQL: one row a record, one statement a change, by the clock of the database.
 *
 * News reach those who wait in this process at once. Others ask once a second, as for news that got lost: what tells
 * them sooner (LISTEN) needs a connection of its own in each process, and makes those who commit wait for each other.
 */
export class PostgresIdempotencyStore implements IdempotencyStore {
  readonly remote = true
  readonly #pool: PostgresPool
  readonly #schema: string
  readonly #wakeups = new Wakeups()

  constructor(pool: PostgresPool, schema: string) {
    this.#pool = pool
    this.#schema = schema
  }

  async claim(subject: Subject, claim: Claim): Promise<ClaimReply> {
    const { owner, fingerprint, caller, leaseMs, resultTtlMs, rerun } = claim
    const lifetimes = [leaseMs, leaseMs + resultTtlMs]
    const who = [idOf(subject), nameOf(subject), owner, fingerprint, caller]
    return decodeClaim(await this.#ask(idempotencySql.claim, [...who, ...lifetimes, rerun]))
  }

  async renew(
    subject: Subject,
    owner: string,
    { leaseMs, resultTtlMs }: Lifetimes,
  ): Promise<boolean> {
    const lifetimes = [leaseMs, leaseMs + resultTtlMs]
    const rows = await this.#run(idempotencySql.renew, [idOf(subject), owner, ...lifetimes])
    return rows.length === 1
  }

  async settle(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): Promise<SettleReply> {
    const values = settlementValues(subject, owner, settlement, lifetimes)
    const reply = decodeSettle(await this.#ask(idempotencySql.settle, values))
    if (reply !== 'refused') this.#tell(subject, settlement)
    return reply
  }

  async read(subject: Subject): Promise<IdempotencyRecord | undefined> {
    const [row] = await this.#run(idempotencySql.read, [idOf(subject)])
    return row && decodeRecord(subject, row)
  }

  async unknown(from: number): Promise<UnknownPage> {
    const rows = await this.#run(idempotencySql.unknown, [from, RECORDS_A_PAGE])
    const records = rows.map(decodeUnknown)
    if (rows.length < RECORDS_A_PAGE) return { records }
    return { records, next: Number(rows.at(-1)?.['number']) }
  }

  watch(subject: Subject): Watch {
    return this.#wakeups.watch(nameOf(subject))
  }

  begin(): Promise<StoreTransaction> {
    return PostgresTransaction.begin(this.#pool, this.#schema, (subject, settlement) =>
      this.#tell(subject, settlement),
    )
  }

  #tell(subject: Subject, { state }: Settlement): void {
    if (state === 'absent') this.#wakeups.wakeOne(nameOf(subject))
    else this.#wakeups.wakeAll(nameOf(subject))
  }

  /** Until there is an answer: a statement that has none met others, which changed what it had seen. */
  async #ask(sql: string, values: unknown[]): Promise<Row> {
    for (;;) {
      const [row] = await this.#run(sql, values)
      if (row) return row
    }
  }

  #run(sql: string, values: unknown[]): Promise<readonly Row[]> {
    return runAlone(bound(this.#pool), within(this.#schema, sql), values)
  }
}

const RECORDS_A_PAGE = 100
