/**
 * What an adapter to a web framework is made of; applications import from the adapter instead.
 *
 * @packageDocumentation
 */

export type { Framework } from './framework.ts'
export type { IdempotencyFramework } from './idempotency-framework.ts'
export { IdempotencyGate } from './idempotency-gate.ts'
export type { IdempotencyGateOptions } from './idempotency-options.ts'
export type { LockFramework } from './lock-framework.ts'
export { LockGate } from './lock-gate.ts'
export type { LockGateOptions, LockKey, LockMetadata } from './lock-options.ts'
export { checkArguments, checkCalled, checkDecorated, checkHandler } from './method-decorator.ts'
export type { Problem, ProblemDocument } from './problem.ts'
export type { ProxyTrust } from './proxy-warning.ts'
export { RateLimitGate } from './rate-limit-gate.ts'
export type { Eventually, RateLimitOptions } from './rate-limit-options.ts'
