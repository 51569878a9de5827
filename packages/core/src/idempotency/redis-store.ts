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
    const last = oneSlot ? Math.min(from + SLOTS_A_PAGE, SLOTS) : 0
    const indexes = oneSlot
      ? Array.from({ length: last - from }, (_, offset) => this.#names.indexOf(from + offset))
      : [this.#names.index]
    const subjects = (await Promise.all(indexes.map((index) => this.#listed(index)))).flat()
    const records = await Promise.all(subjects.map((subject) => this.read(subject)))
    const unknown = records.filter((record) => record !== undefined && record.state === 'unknown')
    const page = unknown as readonly IdempotencyRecord[]
    return oneSlot && last < SLOTS ? { records: page, next: last } : { records: page }
  }

  watch(subject: Subject): Watch {
    return this.#news.watch(this.#names.record(subject))
  }

  async #listed(index: string): Promise<readonly Subject[]> {
    const members = new Set<string>()
    let cursor = '0'
    do {
      const reply = await this.#redis.send(index, ['ZSCAN', index, cursor, 'COUNT', '200'])
      const [next, flat] = reply as [string, string[]]
      for (let at = 0; at < flat.length; at += 2) members.add(flat[at] as string)
      cursor = String(next)
    } while (cursor !== '0')
    return [...members].map(subjectOf)
  }
}

const SLOTS_A_PAGE = 256

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
