/**
 * What an adapter to a web framework is made of; applications import from the adapter instead.
 *
 * @packageDocumentation
 */

export type { Framework } from './framework.ts'
export type { IdempotencyFramework } from './idempotency-framework.ts'
export { IdempotencyGate } from './idempotency-gate.ts'
export type { IdempotencyGateOptions } from './idempotency-options.ts'
export type { Problem } from './problem.ts'
export type { ProxyTrust } from './proxy-warning.ts'
export { RateLimitGate } from './rate-limit-gate.ts'
export type { Eventually, RateLimitOptions } from './rate-limit-options.ts'
