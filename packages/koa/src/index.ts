import type { Decision } from '@sluice/core'

export * from '@sluice/core'
export { type RateLimitOptions, rateLimit } from './rate-limit.ts'

declare module 'koa' {
  interface DefaultState {
    /** What `rateLimit()` decided; with several on one request, what the last one did. */
    rateLimit?: Decision
  }
}
