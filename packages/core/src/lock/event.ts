import type { LeaseLostError } from '../errors.ts'

/** What events name a lock by: each key hashed by `hashKey`, with a comma between those of several. */
interface AboutLock {
  readonly keyHash: string
}

/** `sluice:lock`: a lease was granted, after so long. */
export interface LockAcquiredEvent extends AboutLock {
  readonly type: 'acquired'
  readonly fence: number
  readonly waitMs: number
}

/**
 * `sluice:lock`: a lease was given back. `leaseRatio`: the time held over `leaseMs`; alert before it nears 1 where leases
 * are not renewed. `unknown`: the store could not be asked until the lease was over anyway.
 */
export interface LockReleasedEvent extends AboutLock {
  readonly type: 'released'
  readonly fence: number
  readonly holdMs: number
  readonly leaseRatio: number
  readonly outcome: 'released' | 'already-lost' | 'unknown'
}

/** `sluice:lock`: the store did not confirm a release within the deadline. It is tried again; a `released` follows. */
export interface LockReleaseDelayedEvent extends AboutLock {
  readonly type: 'release-delayed'
  readonly fence: number
  readonly error: unknown
}

/** `sluice:lock`: others held the key for as long as somebody wanted to wait. */
export interface LockTimedOutEvent extends AboutLock {
  readonly type: 'timed-out'
  readonly waitedMs: number
}

/** `sluice:lock`: work may be running unprotected from now on; its `signal` was aborted. See `LeaseLostError`. */
export interface LockLostEvent extends AboutLock {
  readonly type: 'lease-lost'
  readonly fence: number
  readonly reason: LeaseLostError['reason']
}

/** `sluice:lock`: a claim that failed uncertainly was undone, or was over before it could be (`lost`). */
export interface LockCleanedUpEvent extends AboutLock {
  readonly type: 'cleaned-up'
  readonly outcome: 'released' | 'not-held' | 'lost'
}

/** `sluice:lock`: the store cannot be asked, and `onStoreFailure: 'open'` lets a handler run without protection. */
export interface LockUnprotectedEvent extends AboutLock {
  readonly type: 'unprotected'
  readonly error: unknown
}

/** What locks report. */
export type LockEvent =
  | LockAcquiredEvent
  | LockReleasedEvent
  | LockReleaseDelayedEvent
  | LockTimedOutEvent
  | LockLostEvent
  | LockCleanedUpEvent
  | LockUnprotectedEvent
