import { idempotencyScripts, type Script } from '../generated/lua.ts'
import type { RedisPort } from '../redis/client.ts'
import { keyPart } from '../redis/keys.ts'
import type { Messages } from '../redis/messages.ts'
import { isReplyError, runScriptOnBytes } from '../redis/script-runner.ts'
import { SLOTS, slotOf, slotTag } from '../redis/slots.ts'
import { encodeResponse, encodeTombstone } from './codec.ts'
import { News } from './news.ts'
import type { IdempotencyRecord } from './record.ts'
import { decodeClaim, decodeRecord, decodeSettle } from './redis-replies.ts'
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
  readonly #prefix: string
  readonly #news: News
  /** One hash slot a script: a cluster, or what turned out to be one behind a proxy. */
  #oneSlot: boolean

  constructor(redis: RedisPort, messages: Messages, prefix: string) {
    this.#redis = redis
    this.#prefix = `${prefix}:idempotency:`
    this.#news = new News(messages)
    this.#oneSlot = redis.cluster
  }

  async claim(subject: Subject, claim: Claim): Promise<ClaimReply> {
    const { owner, fingerprint, caller, rerun, willWait } = claim
    const flags = `${rerun ? 'r' : ''}${willWait ? 'w' : ''}`
    const args = [owner, fingerprint + caller, ...lease(claim), flags, member(subject)]
    return decodeClaim(await this.#run(idempotencyScripts.claim, subject, args))
  }

  async renew(subject: Subject, owner: string, lifetimes: Lifetimes): Promise<boolean> {
    const args = [owner, ...lease(lifetimes), member(subject)]
    return (await this.#run(idempotencyScripts.renew, subject, args)) === 1
  }

  async settle(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    { leaseMs, resultTtlMs }: Lifetimes,
  ): Promise<SettleReply> {
    const ttlMs = settlement.state === 'absent' ? leaseMs : resultTtlMs
    const news = [this.#recordKey(subject), this.#redis.cluster ? '1' : '0']
    const change = [letters[settlement.state], String(ttlMs), payload(settlement)]
    const args = [owner ?? '', ...change, ...news, member(subject)]
    return decodeSettle(await this.#run(idempotencyScripts.settle, subject, args))
  }

  async read(subject: Subject): Promise<IdempotencyRecord | undefined> {
    const key = this.#recordKey(subject)
    return decodeRecord(
      subject,
      await runScriptOnBytes(this.#redis, idempotencyScripts.read, [key], []),
    )
  }

  async unknown(from: number): Promise<UnknownPage> {
    const last = this.#oneSlot ? Math.min(from + SLOTS_A_PAGE, SLOTS) : 0
    const indexes = this.#oneSlot
      ? Array.from({ length: last - from }, (_, offset) => this.#slotIndex(from + offset))
      : [this.#index]
    const subjects = (await Promise.all(indexes.map((index) => this.#listed(index)))).flat()
    const records = await Promise.all(subjects.map((subject) => this.read(subject)))
    const unknown = records.filter((record) => record !== undefined && record.state === 'unknown')
    const page = unknown as readonly IdempotencyRecord[]
    return this.#oneSlot && last < SLOTS ? { records: page, next: last } : { records: page }
  }

  watch(subject: Subject): Watch {
    return this.#news.watch(this.#recordKey(subject))
  }

  async #run(
    script: Script,
    subject: Subject,
    args: readonly (string | Buffer)[],
  ): Promise<unknown> {
    const key = this.#recordKey(subject)
    const index = this.#oneSlot ? this.#slotIndex(slotOf(key)) : this.#index
    try {
      return await runScriptOnBytes(this.#redis, script, [key, index], args)
    } catch (error) {
      // Nothing ran: a server that takes no keys of different slots looked at them first.
      if (this.#oneSlot || !isReplyError(error, 'CROSSSLOT')) throw error
      this.#oneSlot = true
      return this.#run(script, subject, args)
    }
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

  #recordKey({ scope, key }: Subject): string {
    return `${this.#prefix}{${scope === '' ? '' : keyPart(scope)}:${keyPart(key)}}`
  }

  get #index(): string {
    return `${this.#prefix}open`
  }

  #slotIndex(slot: number): string {
    return `${this.#prefix}open:{${slotTag(slot)}}`
  }
}

const SLOTS_A_PAGE = 256

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

/** leaseMs, and ttlMs of a claim's record: unknown from the lease's end on, it is remembered like a result. */
function lease({ leaseMs, resultTtlMs }: Lifetimes): readonly string[] {
  return [String(leaseMs), String(leaseMs + resultTtlMs)]
}

/** What the index calls a record: the record's key may hold but hashes of them. */
function member({ scope, key }: Subject): string {
  return JSON.stringify([scope, key])
}

function subjectOf(name: string): Subject {
  const [scope, key] = JSON.parse(name) as [string, string]
  return { scope, key }
}
