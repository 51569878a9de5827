import { BoundedRecords } from '../bounded-records.ts'
import type { Expiring } from '../expiry-heap.ts'
import type { IdempotencyRecord } from './record.ts'
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
import { Wakeups, type Watch } from './wakeups.ts'

/** What the memory store needs from its bundle. */
export interface MemoryOptions {
  readonly maxKeys: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** Keeps records in this process; one call is one step, since nothing in it waits. Twin of lua/idempotency/. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  readonly remote = false
  readonly #records: BoundedRecords<Entry>
  readonly #now: () => number
  readonly #wakeups = new Wakeups()
  #lastFence = 0
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: MemoryOptions) {
    this.#records = new BoundedRecords(options.maxKeys)
    this.#now = options.now
  }

  async claim(subject: Subject, claim: Claim): Promise<ClaimReply> {
    const now = Math.floor(this.#now())
    const entry = this.#read(subject, now)
    const standing = entry && reply(entry, claim, now)
    if (standing) return standing
    const again = entry?.owner === claim.owner
    const granted = {
      attempt: (entry?.attempt ?? 0) + (again ? 0 : 1),
      fence: entry && again ? entry.fence : this.#mintFence(),
    }
    const { owner, fingerprint, caller, leaseMs, resultTtlMs } = claim
    const lease = { leaseEnd: now + leaseMs, expiresAt: now + leaseMs + resultTtlMs }
    const about = { id: idOf(subject), subject, fingerprint, caller, resultTtlMs }
    const held = { ...about, owner, ...granted, ...lease }
    this.#write({ ...held, state: 'claimed', since: now, position: 0, outcome: {} }, now)
    return { state: 'started', ...granted }
  }

  async renew(
    subject: Subject,
    owner: string,
    { leaseMs, resultTtlMs }: Lifetimes,
  ): Promise<boolean> {
    const now = Math.floor(this.#now())
    const entry = this.#read(subject, now)
    if (entry?.state !== 'claimed' || entry.owner !== owner) return false
    const lease = { leaseEnd: now + leaseMs, expiresAt: now + leaseMs + resultTtlMs }
    this.#write({ ...entry, ...lease, resultTtlMs }, now)
    return true
  }

  async settle(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    { resultTtlMs }: Lifetimes,
  ): Promise<SettleReply> {
    const now = Math.floor(this.#now())
    const entry = this.#read(subject, now)
    if (!entry) return settlement.state === 'absent' && owner !== undefined ? 'settled' : 'refused'
    if (owner === undefined ? entry.state !== 'unknown' : entry.owner !== owner) return 'refused'
    if (entry.state === 'completed' || entry.state === 'tombstone')
      return entry.state === settlement.state ? 'settled' : 'refused'
    this.#change({ ...entry, ...ownLifetime(owner, resultTtlMs) }, owner, settlement, now)
    return entry.state === 'unknown' ? 'settled-late' : 'settled'
  }

  async read(subject: Subject): Promise<IdempotencyRecord | undefined> {
    const now = Math.floor(this.#now())
    const entry = this.#read(subject, now)
    return entry && record(entry, now)
  }

  async unknown(): Promise<UnknownPage> {
    const now = Math.floor(this.#now())
    const entries = [...this.#records.values()].map((entry) => asOf(entry, now))
    const unknown = entries.filter(({ state, expiresAt }) => state === 'unknown' && expiresAt > now)
    return { records: unknown.map((entry) => record(entry, now)) }
  }

  watch(subject: Subject): Watch {
    return this.#wakeups.watch(idOf(subject))
  }

  close(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  #read(subject: Subject, now: number): Entry | undefined {
    const entry = this.#records.get(idOf(subject), now)
    return entry && asOf(entry, now)
  }

  #write(entry: Entry, now: number): void {
    this.#records.set(entry, now)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  #change(entry: Entry, owner: string | undefined, settlement: Settlement, now: number): void {
    const { id, resultTtlMs } = entry
    const { state, ...outcome } = settlement
    if (state === 'absent') {
      this.#records.delete(id)
      this.#wakeups.wakeOne(id)
    } else {
      const since = entry.state === state ? entry.since : now
      const expiresAt = now + resultTtlMs
      const settled = { ...entry, state, since, owner, leaseEnd: 0, expiresAt }
      this.#write({ ...settled, outcome: keep(outcome) }, now)
      this.#wakeups.wakeAll(id)
    }
  }

  /** Never twice the same, not even for different keys, and after those of an earlier process. */
  #mintFence(): number {
    this.#lastFence = Math.max(this.#lastFence + 1, Date.now() * 1000)
    return this.#lastFence
  }

  #sweep(): void {
    this.#records.sweep(Math.floor(this.#now()))
    if (this.#records.size === 0) this.close()
  }
}

type Outcome = Pick<IdempotencyRecord, 'response' | 'tombstone'>

interface Entry extends Expiring {
  readonly id: string
  readonly subject: Subject
  readonly state: IdempotencyRecord['state']
  readonly attempt: number
  readonly fence: number
  readonly since: number
  readonly leaseEnd: number
  /** As its owner wants it, for the operator who confirms it. */
  readonly resultTtlMs: number
  readonly owner: string | undefined
  readonly fingerprint: string
  readonly caller: string
  readonly outcome: Outcome
}

/** An operator confirms for as long as the record's owner wanted. */
function ownLifetime(owner: string | undefined, resultTtlMs: number) {
  return owner === undefined ? {} : { resultTtlMs }
}

/** A claim whose lease is over is unknown since then. */
function asOf(entry: Entry, now: number): Entry {
  if (entry.state !== 'claimed' || entry.leaseEnd > now) return entry
  return { ...entry, state: 'unknown', since: entry.leaseEnd }
}

/** What a claim finds, unless it is granted. */
function reply(entry: Entry, claim: Claim, now: number): ClaimReply | undefined {
  const { state, since, leaseEnd, outcome } = entry
  if (entry.caller !== claim.caller) return { state: 'stranger' }
  if (entry.fingerprint !== claim.fingerprint) return { state: 'mismatch' }
  if (outcome.response) return { state: 'replay', response: outcome.response }
  if (outcome.tombstone) return { state: 'tombstone', tombstone: outcome.tombstone }
  if (entry.owner === claim.owner) return undefined
  if (state === 'claimed')
    return { state: 'in-progress', runningMs: now - since, leaseLeftMs: leaseEnd - now }
  return claim.rerun ? undefined : { state: 'unknown', since: wallClock(since, now) }
}

function record(
  { subject, state, attempt, fence, ...entry }: Entry,
  now: number,
): IdempotencyRecord {
  const since = wallClock(entry.since, now)
  const expiresInMs = (state === 'claimed' ? entry.leaseEnd : entry.expiresAt) - now
  return { ...subject, state, attempt, fence, since, expiresInMs, ...entry.outcome }
}

function wallClock(moment: number, now: number): Date {
  return new Date(Date.now() - (now - moment))
}

/** What the caller does with its bytes afterwards changes no record. */
function keep({ response, tombstone }: Outcome): Outcome {
  if (!response) return tombstone ? { tombstone: { ...tombstone } } : {}
  const { body } = response
  const headers = response.headers.map(([name, value]) => [name, value] as const)
  return { response: { ...response, headers, body: typeof body === 'string' ? body : copy(body) } }
}

function copy(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes)
}

/** The length in front: no two subjects share a key, whatever characters they hold. */
function idOf({ scope, key }: Subject): string {
  return `${scope.length}:${scope}${key}`
}

const SWEEP_MS = 60_000
