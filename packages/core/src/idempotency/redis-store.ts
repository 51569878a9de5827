import { idempotencyScripts } from '../generated/lua.ts'
import type { RedisPort } from '../redis/client.ts'
import type { Messages } from '../redis/messages.ts'
import { runScriptOnBytes } from '../redis/script-runner.ts'
import { SLOTS } from '../redis/slots.ts'
import { encodeResponse, encodeTombstone } from './codec.ts'
import { News } from './news.ts'
import type { IdempotencyRecord } from './record.ts'
import { member, RedisNames, subjectOf } from './redis-names.ts'
import { decodeClaim, decodeRecord, decodeSettle } from './redis-replies.ts'
import { RedisSteps } from './redis-steps.ts'
import type {
  Claim,
  ClaimReply,
  IdempotencyStore,
  Lifetimes,
  Settlement,
  SettleReply,
  Subject,
  UnknownPage,
} from './store.ts'
import type { Watch } from './wakeups.ts'

/**
 * Keeps records in Redis: one key a record, one script a change.
 *
 * Beside them, an index of the keys that are claimed or unknown, so that operators find an outcome that nobody asks
 * for any more without a scan of the whole server. It is written by the same scripts as the records, so it must lie
 * in the same hash slot: in a Cluster there is one for each slot that has open claims, and it moves with its slot;
 * elsewhere there is one. It costs a completed record nothing. Listing asks for 16,384 keys in a Cluster, which
 * takes a second or so, and happens when an operator or a job wants to know.
 */
export class RedisIdempotencyStore implements IdempotencyStore {
  readonly remote = true
  readonly #redis: RedisPort
  readonly #names: RedisNames
  readonly #steps: RedisSteps
  readonly #news: News

  constructor(redis: RedisPort, messages: Messages, prefix: string) {
    this.#redis = redis
    this.#names = new RedisNames(prefix)
    this.#steps = new RedisSteps(redis, this.#names)
    this.#news = new News(messages)
  }

  claim(subject: Subject, claim: Claim): Promise<ClaimReply> {
    const { owner, fingerprint, caller, rerun, willWait } = claim
    const flags = (rerun ? 'r' : '-') + (willWait ? 'w' : '-')
    const request = owner + fingerprint + caller + flags + member(subject)
    return new Promise((resolve, failed) => {
      const answered = (reply: unknown) => resolve(decodeClaim(reply))
      const key = this.#names.record(subject)
      this.#steps.claim(claim, { key, args: [request], answered, failed })
    })
  }

  async renew(subject: Subject, owner: string, lifetimes: Lifetimes): Promise<boolean> {
    const { leaseMs, resultTtlMs } = lifetimes
    const args = [owner, String(leaseMs), String(leaseMs + resultTtlMs), member(subject)]
    const record = this.#names.record(subject)
    return (await this.#steps.run(idempotencyScripts.renew, record, args)) === 1
  }

  settle(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): Promise<SettleReply> {
    const change = (owner ?? OPERATOR) + letters[settlement.state] + member(subject)
    const result = payload(settlement)
    return new Promise((resolve, failed) => {
      const answered = (reply: unknown) => resolve(decodeSettle(reply))
      const key = this.#names.record(subject)
      const step = { key, args: [change, result], answered, failed }
      this.#steps.settle(lifetimes, step, result.length > LONG)
    })
  }

  async read(subject: Subject): Promise<IdempotencyRecord | undefined> {
    const key = this.#names.record(subject)
    return decodeRecord(
      subject,
      await runScriptOnBytes(this.#redis, idempotencyScripts.read, [key], []),
    )
  }

  async unknown(from: number): Promise<UnknownPage> {
    const { oneSlot } = this.#steps
    const { members, next } = await (oneSlot
      ? this.#slots(from)
      : this.#scan(this.#names.index, from))
    const records = await Promise.all([...members].map((name) => this.read(subjectOf(name))))
    const unknown = records.filter((record) => record !== undefined && record.state === 'unknown')
    const page = unknown as readonly IdempotencyRecord[]
    return next === 0 ? { records: page } : { records: page, next }
  }

  watch(subject: Subject): Watch {
    return this.#news.watch(this.#names.record(subject))
  }

  /** The whole indexes of some slots: each is short. */
  async #slots(from: number): Promise<Listed> {
    const next = Math.min(from + SLOTS_A_PAGE, SLOTS)
    const members = new Set<string>()
    const collect = async (index: string): Promise<void> => {
      for (let cursor = 0; ; ) {
        const part = await this.#scan(index, cursor)
        for (const member of part.members) members.add(member)
        cursor = part.next
        if (cursor === 0) return
      }
    }
    const slots = Array.from({ length: next - from }, (_, offset) => from + offset)
    await Promise.all(slots.map((slot) => collect(this.#names.indexOf(slot))))
    return { members, next: next === SLOTS ? 0 : next }
  }

  async #scan(index: string, cursor: number): Promise<Listed> {
    const command = ['ZSCAN', index, String(cursor), 'COUNT', '200'] as const
    const [next, flat] = (await this.#redis.send(index, command)) as [string, string[]]
    return { members: new Set(flat.filter((_, at) => at % 2 === 0)), next: Number(next) }
  }
}

/** Names in an index, and where to go on; 0 is the end. */
interface Listed {
  readonly members: ReadonlySet<string>
  readonly next: number
}

/** So that the answers to one page come within a deadline. */
const SLOTS_A_PAGE = 64

/** No token of a claim. See lua/idempotency/settle.lua. */
const OPERATOR = '-'.repeat(22)

/** Longer results, in characters or bytes, travel alone. */
const LONG = 16_384

const letters: { readonly [State in Settlement['state']]: string } = {
  completed: 'D',
  tombstone: 'T',
  unknown: 'U',
  absent: 'F',
}

function payload(settlement: Settlement): string | Buffer {
  if (settlement.state === 'completed') return encodeResponse(settlement.response)
  return settlement.state === 'tombstone' ? encodeTombstone(settlement.tombstone) : ''
}
