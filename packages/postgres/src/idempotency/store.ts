import type {
  Claim,
  ClaimReply,
  IdempotencyRecord,
  IdempotencyStore,
  Lifetimes,
  Settlement,
  SettleReply,
  Subject,
  UnknownPage,
} from '@sluice/core'
import { encodeResponse, encodeTombstone, Wakeups, type Watch } from '@sluice/core/store-kit'
import { digestName } from '../digest.ts'
import { idempotencySql } from '../generated/sql.ts'
import type { PostgresPool, Row } from '../pool.ts'
import { bound, runAlone, within } from '../statements.ts'
import { decodeClaim, decodeRecord, decodeSettle, decodeUnknown } from './replies.ts'

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
    { leaseMs, resultTtlMs }: Lifetimes,
  ): Promise<SettleReply> {
    const { state } = settlement
    const change = state === 'absent' ? ['free', leaseMs] : [state, resultTtlMs]
    const who = [idOf(subject), nameOf(subject), owner ?? null]
    const values = [...who, ...change, payloadOf(settlement)]
    const reply = decodeSettle(await this.#ask(idempotencySql.settle, values))
    if (reply !== 'refused') this.#tell(subject, state)
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

  #tell(subject: Subject, state: Settlement['state']): void {
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

/** JSON has a form for every string, which text in PostgreSQL has not. */
function nameOf({ scope, key }: Subject): string {
  return JSON.stringify([scope, key])
}

function idOf(subject: Subject): Buffer {
  return digestName(nameOf(subject))
}

function payloadOf(settlement: Settlement): Buffer | null {
  if (settlement.state === 'completed') return Buffer.from(encodeResponse(settlement.response))
  if (settlement.state !== 'tombstone') return null
  return Buffer.from(encodeTombstone(settlement.tombstone))
}
