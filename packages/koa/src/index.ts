import type { Decision, RequestIdempotency } from '@sluice/core'

export * from '@sluice/core'
export { type IdempotencyMiddlewareOptions, idempotency } from './idempotency.ts'
export { type RateLimitOptions, rateLimit } from './rate-limit.ts'

declare module 'koa' {
  interface DefaultState {
    /** What `rateLimit()` decided; with several on one request, what the last one did. */
    rateLimit?: Decision
    /** What `idempotency()` knows of this run; absent where it does not protect it. */
    idempotency?: RequestIdempotency
  }
}
