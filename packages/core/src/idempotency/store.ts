import type { IdempotencyRecord, StoredResponse, Tombstone } from './record.ts'
import type { Watch } from './wakeups.ts'

/** What a record is about. */
export interface Subject {
  readonly scope: string
  readonly key: string
}

/** How long things live, in milliseconds of the store's clock. */
export interface Lifetimes {
  /** How long a claim is protected from others while nobody renews it. */
  readonly leaseMs: number
  /** How long a result, a tombstone or an unknown outcome is remembered. */
  readonly resultTtlMs: number
}

/** What asks for the right to run. Digests and token are short strings of fixed length. */
export interface Claim extends Lifetimes {
  /** 128 random bits, the claim's own: whoever knows it is the owner. */
  readonly owner: string
  readonly fingerprint: string
  /** Of the caller's credentials; of nothing where a scope tells callers apart. */
  readonly caller: string
  /** An unknown outcome may be run again. */
  readonly rerun: boolean
  /** The caller will watch the key if it is in progress. */
  readonly willWait: boolean
}

/** What became of a claim. `withdrawn`: a release by the same token came before it. */
export type ClaimReply =
  | { readonly state: 'started'; readonly attempt: number; readonly fence: number }
  | { readonly state: 'replay'; readonly response: StoredResponse }
  | { readonly state: 'in-progress'; readonly runningMs: number; readonly leaseLeftMs: number }
  | { readonly state: 'mismatch' }
  | { readonly state: 'stranger' }
  | { readonly state: 'unknown'; readonly since: Date }
  | { readonly state: 'tombstone'; readonly tombstone: Tombstone }
  | { readonly state: 'withdrawn' }

/** How a claim ends. `absent`: nothing happened, anybody may claim the key. */
export type Settlement =
  | { readonly state: 'completed'; readonly response: StoredResponse }
  | { readonly state: 'tombstone'; readonly tombstone: Tombstone }
  | { readonly state: 'unknown' }
  | { readonly state: 'absent' }

/** `settled-late`: the lease was over, but nobody had claimed the key since. */
export type SettleReply = 'settled' | 'settled-late' | 'refused'

/** A transaction of the application, in which its writes and the end of a claim are committed together, or neither. */
export interface StoreTransaction {
  /** What work runs its statements on; of no use once the transaction has ended. */
  readonly client: unknown
  /**
   * Settles the claim and commits: `settled` when everything is durable; `refused`, and rolled back, when the claim is
   * not this owner's any more. A rejection means that nothing happened, or that nobody knows.
   */
  commit(
    subject: Subject,
    owner: string,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): Promise<'settled' | 'refused'>
  /** Never rejects: what ends the connection rolls back too. `busy`: work may still be using it. */
  rollback(busy: boolean): Promise<void>
}

/** A part of the records whose outcome is unknown, and where to go on. */
export interface UnknownPage {
  readonly records: readonly IdempotencyRecord[]
  /** Absent after the last page. */
  readonly next?: number
}

/**
 * Keeps the records. Six methods, without `begin`, fix the whole contract; `contract/idempotency-store.ts` tests it.
 *
 * - Every change is one atomic step that checks owner and state; the store's clock decides.
 * - A claim whose lease ends becomes unknown by itself, and stays so for `resultTtlMs`.
 * - Caller and fingerprint are compared before anything else, in every state.
 * - The fences of a key's grants rise strictly.
 * - Repeating a call that took effect has no further effect and brings the same answer.
 * - A rejection means: it may or may not have happened.
 */
export interface IdempotencyStore {
  /** True when a call leaves the process: such a store gets deadlines and a circuit. */
  readonly remote: boolean
  /** Claims the key for one run, or says why not; brings the stored response along. */
  claim(subject: Subject, claim: Claim): Promise<ClaimReply>
  /** Whether the claim was still its owner's, and now is for another `leaseMs`. */
  renew(subject: Subject, owner: string, lifetimes: Lifetimes): Promise<boolean>
  /** Ends the claim of this owner; without one, settles what is unknown, for the operator. */
  settle(
    subject: Subject,
    owner: string | undefined,
    settlement: Settlement,
    lifetimes: Lifetimes,
  ): Promise<SettleReply>
  read(subject: Subject): Promise<IdempotencyRecord | undefined>
  /** The records whose outcome is unknown, page by page; 0 begins. What changes meanwhile may be in it or not. */
  unknown(from: number): Promise<UnknownPage>
  /** News of one key, for somebody whose claim said `willWait` and found it in progress. */
  watch(subject: Subject): Watch
  /** Begins a transaction; absent where a store has none. */
  begin?(): Promise<StoreTransaction>
}
