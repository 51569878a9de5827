import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Decision } from '../rate-limit/decision.ts'
import type { Problem } from './problem.ts'
import type { RequestIdempotency } from './protected-run.ts'
import type { ProxyTrust } from './proxy-warning.ts'

/** All that an adapter says of its framework. `Call` is what the framework calls a handler with. */
export interface Framework<Call extends readonly unknown[]> {
  request(...call: Call): IncomingMessage
  response(...call: Call): ServerResponse
  /** The client's address as the framework computes it. */
  address(...call: Call): string | undefined
  /** Whom the framework believes about addresses. */
  proxyTrust(...call: Call): ProxyTrust
  /** How to tell the framework about proxies: the end of a warning. */
  readonly proxyAdvice: string
  /** What `idempotency()` has left in front of the limit. */
  idempotency(...call: Call): RequestIdempotency | undefined
  /** Puts the decision where handlers find it. */
  keep(decision: Decision, ...call: Call): void
  /** Sets the status, for an application that answers by itself. */
  setStatus(status: number, ...call: Call): void
  /** Sends a refusal, without a body for HEAD. */
  send(problem: Problem, ...call: Call): void
}
