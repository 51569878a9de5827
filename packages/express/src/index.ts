import type { Decision, RequestIdempotency } from '@sluice/core'

export * from '@sluice/core'
export {
  type IdempotencyHandler,
  type IdempotencyMiddlewareOptions,
  idempotency,
} from './idempotency.ts'
export { type RateLimitHandler, type RateLimitOptions, rateLimit } from './rate-limit.ts'

declare global {
  namespace Express {
    interface Request {
      /** What `rateLimit()` decided; with several on one request, what the last one did. */
      rateLimit?: Decision
      /** What `idempotency()` knows of this run; absent where it does not protect it. */
      idempotency?: RequestIdempotency
    }
  }
}
