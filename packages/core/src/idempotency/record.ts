/** A response as it is stored and replayed. */
export interface StoredResponse {
  readonly status: number
  /** The reason phrase, where the handler set one of its own. */
  readonly reason?: string
  /** End-to-end fields in order, repeated ones repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array | string
}

/** What is kept of a response that cannot be replayed: that the work is done, and where its result is. */
export interface Tombstone {
  readonly status?: number
  readonly location?: string
}

/** How an operator sees a key. */
export interface IdempotencyRecord {
  readonly key: string
  readonly scope: string
  readonly state: 'claimed' | 'completed' | 'tombstone' | 'unknown'
  readonly attempt: number
  readonly fence: number
  /** When the present state began, by the store's clock. */
  readonly since: Date
  /** Claimed: until its lease ends. Else: until the record is forgotten. */
  readonly expiresInMs: number
  /** Of a completed record. */
  readonly response?: StoredResponse
  /** Of a tombstone. */
  readonly tombstone?: Tombstone
}
