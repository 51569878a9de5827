import type { DelayStore } from './delay/store.ts'
import type { IdempotencyStore } from './idempotency/store.ts'
import type { LockStore } from './lock/store.ts'
import type { RateLimitStore } from './rate-limit/store.ts'
import type { CircuitBreaker } from './resilience/circuit-breaker.ts'

/**
 * One port a capability; each middleware takes the bundle and uses its own port. Made by
 * {@link memoryStore} or {@link redisStore}.
 */
export interface Store {
  readonly rateLimit: RateLimitStore
  /** Absent in a bundle that serves other capabilities alone. */
  readonly idempotency?: IdempotencyStore
  /** Absent in a bundle that serves other capabilities alone. */
  readonly lock?: LockStore
  /** Absent in a bundle that serves other capabilities alone. */
  readonly delay?: DelayStore
  /** Shared by everything that uses this store; a store in the process needs none. */
  readonly circuit?: CircuitBreaker
  /** Ends the connections that the store itself opened, never the caller's client. */
  close(): Promise<void>
}
