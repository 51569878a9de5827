import type { Decision } from '@sluice/core'

export * from '@sluice/core'
export { type RateLimitHandler, type RateLimitOptions, rateLimit } from './rate-limit.ts'

declare global {
  namespace Express {
    interface Request {
      /** What `rateLimit()` decided; with several on one request, what the last one did. */
      rateLimit?: Decision
    }
  }
}
