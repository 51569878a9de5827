import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Lease } from '../lock/lease.ts'
import type { ProblemDocument } from './problem.ts'
import type { RequestIdempotency } from './protected-run.ts'

/** All that an adapter says of its framework. `Call` is what the framework calls a handler with. */
export interface LockFramework<Call extends readonly unknown[]> {
  request(...call: Call): IncomingMessage
  response(...call: Call): ServerResponse
  /** Whether a handler ends the response by itself, so that it may be at work after it has returned. */
  answersByItself(...call: Call): boolean
  /** What `idempotency()` has left in front of the lock. */
  idempotency(...call: Call): RequestIdempotency | undefined
  /** What was kept for handlers before. */
  kept(...call: Call): Lease | undefined
  /** Puts the lease where handlers find it; undefined: there is none. */
  keep(lease: Lease | undefined, ...call: Call): void
  /** Sends a refusal, without a body for HEAD. */
  send(problem: ProblemDocument, ...call: Call): void
}
