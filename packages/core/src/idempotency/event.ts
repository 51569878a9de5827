import type { LeaseLostError } from '../errors.ts'

/** Who an event is about. */
interface AboutExecution {
  /** Scope and key together, hashed by `hashKey`: they often name users or orders. */
  readonly keyHash: string
  readonly attempt: number
  readonly fence: number
}

/**
 * `sluice:idempotency`: an owner that came after its lease had ended. `settled`: the outcome was still unknown, and
 * now is what the owner says; `refused`: somebody else has claimed or settled the key since.
 */
export interface LateSettlementEvent extends AboutExecution {
  readonly type: 'late-settlement'
  readonly settlement: 'completed' | 'tombstone' | 'unknown' | 'absent'
  readonly outcome: 'settled' | 'refused'
}

/** `sluice:idempotency`: the store did not take the outcome of an execution within the deadline. It is sent again. */
export interface SettlementDelayedEvent extends AboutExecution {
  readonly type: 'settlement-delayed'
  readonly settlement: LateSettlementEvent['settlement']
  readonly error: unknown
}

/** `sluice:idempotency`: the end of what {@link SettlementDelayedEvent} began. `lost`: the outcome stays unknown. */
export interface SettlementRetriedEvent extends AboutExecution {
  readonly type: 'settlement-retried'
  readonly settlement: LateSettlementEvent['settlement']
  readonly outcome: 'settled' | 'refused' | 'lost'
}

/** `sluice:idempotency`: an execution may be running unprotected from now on; its `signal` was aborted. */
export interface LeaseLostEvent extends AboutExecution {
  readonly type: 'lease-lost'
  /** `silence`: no renewal got through; `taken`: the key is no longer its; `max-run`: `maxRunMs` is over. */
  readonly reason: LeaseLostError['reason']
}

/** `sluice:idempotency`: a claim that failed uncertainly was undone, or could not be (`lost`). */
export interface ClaimWithdrawnEvent {
  readonly type: 'claim-withdrawn'
  readonly keyHash: string
  readonly outcome: 'released' | 'not-held' | 'lost'
}

/** `sluice:idempotency`: the store cannot be asked, and `onStoreFailure: 'open'` lets a request run without protection. */
export interface UnprotectedEvent {
  readonly type: 'unprotected'
  readonly keyHash: string
  readonly error: unknown
}

/** What idempotency reports. */
export type IdempotencyEvent =
  | LateSettlementEvent
  | SettlementDelayedEvent
  | SettlementRetriedEvent
  | LeaseLostEvent
  | ClaimWithdrawnEvent
  | UnprotectedEvent
