import { createRateLimiter, type RateLimiter } from '../rate-limit/limiter.ts'
import { LimiterPool } from './limiter-pool.ts'
import type { ResolvedOptions } from './rate-limit-options.ts'

/** One limiter for all requests, or, where the policies depend on the request, one for each set of them. */
export function limiterSource<Call extends readonly unknown[]>(
  options: ResolvedOptions<Call>,
): (call: Call) => RateLimiter | Promise<RateLimiter> {
  const { policy, limiter, name, store, timeoutMs, denyCacheMs, onStoreFailure, instances } =
    options
  if (limiter) return () => limiter
  const common = {
    ...(name !== undefined && { name }),
    ...(store && { store }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(denyCacheMs !== undefined && { denyCacheMs }),
    ...(onStoreFailure && { onStoreFailure }),
    ...(instances !== undefined && { instances }),
  }
  if (typeof policy !== 'function') {
    const only = createRateLimiter({ ...common, policy })
    return () => only
  }
  const pool = new LimiterPool(common)
  return async (call) => pool.limiterFor(await policy(...call))
}
