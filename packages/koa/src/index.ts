import type { Decision, Lease, RequestIdempotency } from '@sluice/core'

export * from '@sluice/core'
export { type IdempotencyMiddlewareOptions, idempotency } from './idempotency.ts'
export {
  Locked,
  type LockedContext,
  type LockedDecorator,
  type LockKey,
  type LockOptions,
  lock,
  withLock,
} from './lock.ts'
export { type RateLimitOptions, rateLimit } from './rate-limit.ts'

declare module 'koa' {
  interface DefaultState {
    /** What `rateLimit()` decided; with several on one request, what the last one did. */
    rateLimit?: Decision
    /** What `idempotency()` knows of this run; absent where it does not protect it. */
    idempotency?: RequestIdempotency
    /** What `lock()`, `withLock()` or `@Locked` hold, with several the innermost; absent where nothing is locked. */
    lease?: Lease | undefined
  }
}
