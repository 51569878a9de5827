import type {
  Claim,
  ClaimReply,
  IdempotencyRecord,
  IdempotencyStore,
  Lifetimes,
  Settlement,
  SettleReply,
  Subject,
} from '@sluice/core'

/** A store under test, and its clock. */
export interface Place extends AsyncDisposable {
  readonly store: IdempotencyStore
  advance(ms: number): Promise<void>
}

export type Ending = Settlement['state']

export const LEASE_MS = 30_000
export const TTL_MS = 86_400_000
export const lifetimes: Lifetimes = { leaseMs: LEASE_MS, resultTtlMs: TTL_MS }
export const response = {
  status: 201,
  headers: [['location', '/orders/7']],
  body: '{"ok":true}',
} as const

const settlements: Readonly<Record<Ending, Settlement>> = {
  completed: { state: 'completed', response },
  tombstone: { state: 'tombstone', tombstone: { status: 200, location: '/x' } },
  unknown: { state: 'unknown' },
  absent: { state: 'absent' },
}

/** A fresh key for each test, in the store under test. */
export class KeyUnderTest {
  subject: Subject = { scope: 'shop', key: 'order' }
  #place: Place | undefined
  #keys = 0

  get store(): IdempotencyStore {
    if (!this.#place) throw new Error('not open')
    return this.#place.store
  }

  open(place: Place): void {
    this.#place = place
  }

  renew(): void {
    this.subject = { scope: 'shop', key: `order-${++this.#keys}` }
  }

  async advance(ms: number): Promise<void> {
    await this.#place?.advance(ms)
  }

  async close(): Promise<void> {
    await this.#place?.[Symbol.asyncDispose]()
  }

  claim(owner: string, changes: Partial<Claim> = {}): Promise<ClaimReply> {
    return this.store.claim(this.subject, claimOf(owner, changes))
  }

  async grant(owner: string, changes: Partial<Claim> = {}) {
    const reply = await this.claim(owner, changes)
    if (reply.state !== 'started') throw new Error(`not started but ${reply.state}`)
    return reply
  }

  /** Without an owner: the operator. */
  settle(owner: string | undefined, ending: Ending): Promise<SettleReply> {
    const token = owner === undefined ? undefined : ownerOf(owner)
    return this.store.settle(this.subject, token, settlements[ending], lifetimes)
  }

  /** All records whose outcome is unknown. */
  async unknown(): Promise<readonly IdempotencyRecord[]> {
    const records: IdempotencyRecord[] = []
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page = await this.store.unknown(from)
      records.push(...page.records)
      from = page.next
    }
    return records
  }
}

export function claimOf(owner: string, changes: Partial<Claim> = {}): Claim {
  return {
    owner: ownerOf(owner),
    fingerprint: fingerprintOf('same'),
    caller: callerOf(''),
    rerun: false,
    willWait: false,
    ...lifetimes,
    ...changes,
  }
}

/** 22 characters. */
export function ownerOf(name: string): string {
  return name.padEnd(22, '_')
}

/** 43 characters. */
export function fingerprintOf(content: string): string {
  return content.padEnd(43, '_')
}

export function callerOf(name: string): string {
  return name.padEnd(22, '-')
}

/** Real time goes on below the test's clock. */
export function near(expectedMs: number): (ms: unknown) => boolean {
  return (ms) => Math.abs(Number(ms) - expectedMs) < 3000
}
