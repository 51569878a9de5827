import type { Decision } from '../rate-limit/decision.ts'
import type { FieldTarget } from './fields.ts'
import { secondsUp } from './seconds.ts'

/**
 * `Retry-After` of a refusal, in whole seconds, at least 1 (RFC 9110, section 10.2.3); none for a cost
 * that can never fit. A larger value that something before us wrote stays.
 */
export function writeRetryAfter(target: FieldTarget, decision: Decision): void {
  const seconds = secondsToWait(decision)
  if (seconds === undefined) return
  const earlier = target.getHeader('Retry-After')
  if (earlier !== undefined && secondsFrom(String(earlier)) >= seconds) return
  target.setHeader('Retry-After', String(seconds))
}

function secondsToWait({ source, retryAfterMs }: Decision): number | undefined {
  if (retryAfterMs !== Number.POSITIVE_INFINITY) return Math.max(1, secondsUp(retryAfterMs))
  // With the store gone nobody knows that a cost can never fit.
  return source === 'closed' ? 1 : undefined
}

/** Either form of the field: seconds, or an HTTP-date. */
function secondsFrom(field: string): number {
  const seconds = Number(field)
  return Number.isNaN(seconds) ? secondsUp(Date.parse(field) - Date.now()) : seconds
}
