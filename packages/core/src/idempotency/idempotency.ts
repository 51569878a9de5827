import type { Store } from '../store.ts'
import type { IdempotencyRecord, StoredResponse, Tombstone } from './record.ts'

/** What a request says of itself. */
export interface IdempotencyRequest {
  readonly key: string
  /** Records of different scopes never meet. Default: one scope. */
  readonly scope?: string
  /** What the request asks for; the same key with another fingerprint is a mismatch. */
  readonly fingerprint: string | Uint8Array
  /** A digest of the caller's credentials, where there is no scope: another caller is a stranger. */
  readonly caller?: string
  /** Wait so long for one that is in progress; default 0. */
  readonly waitMs?: number
  readonly signal?: AbortSignal
}

/** One run of the protected work. */
export interface Execution {
  readonly attempt: number
  readonly fence: number
  /** Aborted before the lease ends, when the lease is lost or `maxRunMs` is over. */
  readonly signal: AbortSignal
  /** Stores the response: `settled` when it is durable; `refused` when somebody else owns the key by now. */
  complete(response: StoredResponse): Promise<'settled' | 'refused'>
  /** Done, but not replayable. */
  bury(tombstone?: Tombstone): Promise<'settled' | 'refused'>
  /** Nothing happened: a retry may run. */
  release(): Promise<void>
  /** Nobody knows what happened (the answer was cut off): unknown at once. */
  abandon(): Promise<void>
}

export type Begun =
  | { readonly state: 'started'; readonly execution: Execution }
  | { readonly state: 'replay'; readonly response: StoredResponse }
  | { readonly state: 'in-progress'; readonly retryAfterMs: number }
  | { readonly state: 'mismatch' }
  | { readonly state: 'stranger' }
  | { readonly state: 'unknown'; readonly since: Date }
  | { readonly state: 'tombstone'; readonly tombstone: Tombstone }

export interface Idempotency {
  /** @throws StoreUnavailableError when the store cannot say (mode `closed`), within `timeoutMs`. */
  begin(request: IdempotencyRequest): Promise<Begun>
  inspect(key: string, scope?: string): Promise<IdempotencyRecord | undefined>
  confirm(key: string, response: StoredResponse, scope?: string): Promise<boolean>
  release(key: string, scope?: string): Promise<boolean>
  unknown(): AsyncIterable<IdempotencyRecord>
}

export interface IdempotencyOptions {
  readonly store?: Store
  readonly leaseMs?: number
  readonly maxRunMs?: number
  readonly resultTtlMs?: number
  readonly onUnknown?: 'hold' | 'rerun'
  readonly timeoutMs?: number
}

export declare function createIdempotency(options?: IdempotencyOptions): Idempotency
