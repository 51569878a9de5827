import type { Decision } from '../rate-limit/decision.ts'

/** A refusal as it goes to the client: a problem document of RFC 9457. */
export interface ProblemDocument {
  readonly status: number
  readonly contentType: 'application/problem+json'
  /** JSON in ASCII, so its length is its length in bytes. */
  readonly body: string
}

/** The refusal of a rate limit. */
export interface Problem extends ProblemDocument {
  readonly status: 429 | 503
}

/**
 * The problem document of a refused decision: `quota-exceeded` with the policies that refused, or, when
 * the store failed and the mode is `closed`, `temporary-reduced-capacity`: a failure is never the client's.
 * Types and titles are those of draft-ietf-httpapi-ratelimit-headers-11, section 5.
 */
export function problemOf(decision: Decision): Problem {
  if (decision.source === 'closed') return reducedCapacity
  const violated = decision.policies.filter((state) => !state.allowed).map((state) => state.name)
  const names = JSON.stringify(violated.length > 0 ? violated : [decision.policy])
  return { status: 429, contentType: CONTENT_TYPE, body: `${QUOTA_EXCEEDED}${names}}` }
}

const CONTENT_TYPE = 'application/problem+json'

const TYPES = 'https://iana.org/assignments/http-problem-types'

const QUOTA_EXCEEDED: string =
  `{"type":"${TYPES}#quota-exceeded",` +
  '"title":"Request cannot be satisfied as assigned quota has been exceeded",' +
  '"status":429,"violated-policies":'

const reducedCapacity: Problem = {
  status: 503,
  contentType: CONTENT_TYPE,
  body:
    `{"type":"${TYPES}#temporary-reduced-capacity",` +
    '"title":"Request cannot be satisfied due to temporary server capacity constraints",' +
    '"status":503}',
}
