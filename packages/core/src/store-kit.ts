/**
 * What a store outside of core is made of; applications need none of it.
 *
 * @packageDocumentation
 */

export { backoffOf, backoffRule } from './delay/backoff.ts'
export { emit } from './events.ts'
export {
  decodeResponse,
  decodeTombstone,
  encodeResponse,
  encodeTombstone,
} from './idempotency/codec.ts'
export { Wakeups, type Watch } from './idempotency/wakeups.ts'
export {
  callback,
  checkOptions,
  duration,
  either,
  integer,
  type Rule,
  required,
  withDefaults,
} from './options.ts'
export { CircuitBreaker } from './resilience/circuit-breaker.ts'
export { Renewal, type RenewalOptions } from './resilience/renewal.ts'
export { retryUntil } from './resilience/retry.ts'
