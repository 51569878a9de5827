import type { Decision } from '../rate-limit/decision.ts'
import type { FieldTarget } from './fields.ts'
import { secondsUp } from './seconds.ts'

/**
 * `X-RateLimit-*`: one value each, so of several limiters on one request the one nearest to its limit
 * is told. Nobody specified `Reset`: most packages write Unix seconds, some the seconds left.
 */
export function writeLegacyFields(
  target: FieldTarget,
  decision: Decision,
  reset: 'unix-seconds' | 'seconds-left',
): void {
  const known = decision.source !== 'open' && decision.source !== 'closed'
  const earlier = target.getHeader('X-RateLimit-Remaining')
  if (earlier !== undefined && !(known && decision.remaining < Number(earlier))) return
  target.setHeader('X-RateLimit-Limit', String(decision.limit))
  if (!known) return
  target.setHeader('X-RateLimit-Remaining', String(decision.remaining))
  if (decision.resetMs === Number.POSITIVE_INFINITY) return
  const fromMs = reset === 'unix-seconds' ? Date.now() : 0
  target.setHeader('X-RateLimit-Reset', String(secondsUp(fromMs + decision.resetMs)))
}
