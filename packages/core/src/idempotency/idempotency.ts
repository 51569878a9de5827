import { processStore } from '../memory-store.ts'
import {
  boolean,
  checkOptions,
  duration,
  integer,
  oneOf,
  type Rule,
  withDefaults,
} from '../options.ts'
import type { Store } from '../store.ts'
import type { IdempotencyRecord, StoredResponse, Tombstone } from './record.ts'
import { StoredIdempotency } from './stored-idempotency.ts'
import { withAuthority } from './with-authority.ts'

/** What a request says of itself. */
export interface IdempotencyRequest {
  /** A non-empty string. */
  readonly key: string
  /** Records of different scopes never meet. Default: one scope. */
  readonly scope?: string | undefined
  /** What the request asks for; the same key with another fingerprint is a mismatch. */
  readonly fingerprint: string | Uint8Array
  /** A digest of the caller's credentials, where there is no scope: another caller is a stranger. */
  readonly caller?: string | undefined
  /** Wait so long for one that is in progress; default 0. */
  readonly waitMs?: number | undefined
  /** Ends the waiting: `begin` rejects with its reason, and claims nothing. */
  readonly signal?: AbortSignal | undefined
}

/** One run of the protected work. */
export interface Execution {
  /** 1, or more when earlier runs ended unknown. */
  readonly attempt: number
  /** Higher than those of all earlier runs of this key: for the database to check. A safe integer. */
  readonly fence: number
  /** Aborted with a `LeaseLostError` before the lease ends, when the lease is lost or `maxRunMs` is over. */
  readonly signal: AbortSignal
  /**
   * Stores the response: `settled` when it is durable; `refused` when somebody else owns the key by now.
   *
   * @throws StoreUnavailableError (`store-unavailable`) after one deadline: deliver the response nevertheless. The key
   * stays claimed, and the response is sent again in the background until the lease ends; then the outcome is unknown.
   * ConfigurationError (`configuration`) for what is no response: nothing has happened then.
   */
  complete(response: StoredResponse): Promise<'settled' | 'refused'>
  /** Done, but not replayable. Fails as `complete` does. */
  bury(tombstone?: Tombstone): Promise<'settled' | 'refused'>
  /** Nothing happened: a retry may run. Fails as `complete` does. */
  release(): Promise<void>
  /** Nobody knows what happened (the answer was cut off): unknown at once. Fails as `complete` does. */
  abandon(): Promise<void>
  /**
   * Begins a transaction in which work and result are committed together; with `transactional: true` alone.
   *
   * @throws ConfigurationError (`configuration`) without `transactional`; StoreUnavailableError (`store-unavailable`)
   * when there is no transaction within `timeoutMs`: nothing has happened then.
   */
  transaction(): Promise<ExecutionTransaction>
}

/** Work and result, committed together or not at all. */
export interface ExecutionTransaction {
  /** A client of the store's database, in a transaction. It ends with this one, and must not be released. */
  readonly client: unknown
  /**
   * Stores the response, or a tombstone where there is none, and commits.
   *
   * @throws TransactionNotCommittedError (`transaction-not-committed`): do not deliver the response. The key is freed
   * if nothing happened.
   */
  commit(response?: StoredResponse, tombstone?: Tombstone): Promise<void>
  /** Undoes the work; the key stays claimed. `busy`: work may still be using the client. Never rejects. */
  rollback(busy?: boolean): Promise<void>
}

/** What a caller may do. Only `started` may run the work. */
export type Begun =
  | { readonly state: 'started'; readonly execution: Execution }
  | { readonly state: 'replay'; readonly response: StoredResponse }
  /** `retryAfterMs`: as long as it has been running, at least a second, and not past its lease. */
  | { readonly state: 'in-progress'; readonly retryAfterMs: number }
  | { readonly state: 'mismatch' }
  | { readonly state: 'stranger' }
  | { readonly state: 'unknown'; readonly since: Date }
  | { readonly state: 'tombstone'; readonly tombstone: Tombstone }

/** Runs work once a key. Made by {@link createIdempotency}. */
export interface Idempotency {
  /**
   * Claims a key, or says what became of it.
   *
   * @throws StoreUnavailableError (`store-unavailable`) when the store cannot say, within `timeoutMs`: do not run the
   * work. ConfigurationError (`configuration`) for a wrong key, scope, fingerprint or `waitMs`. The signal's reason.
   */
  begin(request: IdempotencyRequest): Promise<Begun>
  /** What is known of a key. @throws StoreUnavailableError (`store-unavailable`) */
  inspect(key: string, scope?: string): Promise<IdempotencyRecord | undefined>
  /**
   * Settles an unknown outcome: it happened, and this is its response. False when it is not unknown.
   *
   * @throws StoreUnavailableError (`store-unavailable`), ConfigurationError (`configuration`)
   */
  confirm(key: string, response: StoredResponse, scope?: string): Promise<boolean>
  /**
   * Settles an unknown outcome: nothing happened, a retry may run. False when it is not unknown.
   *
   * @throws StoreUnavailableError (`store-unavailable`)
   */
  release(key: string, scope?: string): Promise<boolean>
  /** All records whose outcome is unknown, of all scopes. @throws StoreUnavailableError (`store-unavailable`) */
  unknown(): AsyncIterable<IdempotencyRecord>
}

/** Options of {@link createIdempotency}. */
export interface IdempotencyOptions {
  /** Default: a memory store that the whole process shares. */
  readonly store?: Store | undefined
  /**
   * A store that decides, a postgresStore, behind `store`, which then answers repeats alone: whatever that one loses,
   * and while it is away, work runs once. Default: `store` decides.
   */
  readonly authority?: Store | undefined
  /** How long a silent owner keeps the key, in milliseconds from 100; renewed at a third; default 30,000. */
  readonly leaseMs?: number | undefined
  /** Renewal stops here, in milliseconds from 100; default 300,000. */
  readonly maxRunMs?: number | undefined
  /** How long results and unknown outcomes are remembered, in milliseconds from 1; default 86,400,000. */
  readonly resultTtlMs?: number | undefined
  /** Whether a retry may run what an earlier run left unknown; default `'hold'`: not until it is settled. */
  readonly onUnknown?: 'hold' | 'rerun' | undefined
  /**
   * The work happens in `transaction()` alone, so a run that was interrupted has changed nothing, and a retry runs: there
   * is no unknown outcome. Needs a store with transactions, a postgresStore; default false.
   */
  readonly transactional?: boolean | undefined
  /** Deadline of a store call in milliseconds: 1 to 60,000; default 500. */
  readonly timeoutMs?: number | undefined
}

/**
 * Runs work once a key, for message consumers and jobs. In HTTP, `idempotency()` makes one for you.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or out of range.
 * @example
 * ```ts
 * import { createIdempotency } from '@sluice/core'
 *
 * const idempotency = createIdempotency()
 * const begun = await idempotency.begin({ key: 'message:42', fingerprint: 'ship order 7' })
 * if (begun.state === 'started') {
 *   await begun.execution.complete({ status: 200, headers: [], body: 'shipped' })
 * }
 * ```
 */
export function createIdempotency(options: IdempotencyOptions = {}): Idempotency {
  const checked = checkOptions('createIdempotency', options, idempotencyRules)
  const { store = processStore(), authority } = checked
  const resolved = withDefaults(checked, defaults)
  const decides = authority ? withAuthority(store, authority, resolved.timeoutMs) : store
  return new StoredIdempotency(decides, resolved)
}

const storeRule: Rule = {
  expected: 'a store, as made by memoryStore(), redisStore() or postgresStore()',
  accepts: (value) => typeof value === 'object' && value !== null && 'idempotency' in value,
}

/** The rules of the options that `idempotency()` has in common with {@link createIdempotency}. */
export const idempotencyRules: Readonly<Record<keyof IdempotencyOptions, Rule>> = {
  store: storeRule,
  authority: storeRule,
  leaseMs: duration(100),
  maxRunMs: duration(100),
  resultTtlMs: duration(1),
  onUnknown: oneOf('hold', 'rerun'),
  transactional: boolean,
  timeoutMs: integer(1, 60_000, ' milliseconds'),
}

const defaults = {
  leaseMs: 30_000,
  maxRunMs: 300_000,
  resultTtlMs: 86_400_000,
  onUnknown: 'hold' as 'hold' | 'rerun',
  transactional: false,
  timeoutMs: 500,
}
