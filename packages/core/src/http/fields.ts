import type { Decision, PolicyState } from '../rate-limit/decision.ts'
import type { Policy } from '../rate-limit/policy.ts'
import { writeLegacyFields } from './legacy-fields.ts'
import { MAX_INTEGER, secondsUp } from './seconds.ts'

/**
 * A family of response fields: `draft-11` is `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-11; the legacy ones are `X-RateLimit-Limit`, `-Remaining` and
 * `-Reset`, where `legacy` writes `Reset` as Unix seconds and `legacy-seconds-left` as seconds from now.
 */
export type HeaderFormat = 'draft-11' | 'legacy' | 'legacy-seconds-left'

/**
 * Every field that a rate limit may send, for a CORS `Access-Control-Expose-Headers`: browsers hide
 * fields that it does not name from scripts of another origin.
 *
 * @example
 * ```ts
 * import { rateLimitFieldNames } from '@sluice/core'
 * const corsOptions = { origin: 'https://app.example', exposedHeaders: [...rateLimitFieldNames] }
 * ```
 */
export const rateLimitFieldNames: readonly string[] = Object.freeze([
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
])

/** What the fields are written to: any Node.js response, whichever framework made it. */
export interface FieldTarget {
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string): unknown
}

/** One format's way to tell a decision; `policies` are those of the limiter that decided. */
export type FieldWriter = (
  target: FieldTarget,
  decision: Decision,
  policies: readonly Policy[],
) => void

/** The one switch: the next draft (parameters `a`, `w`, `c`, a field `RateLimit-Partition`) is one more line. */
export const fieldWriters: Readonly<Record<HeaderFormat, FieldWriter>> = {
  'draft-11': writeDraft11,
  legacy: (target, decision) => writeLegacyFields(target, decision, 'unix-seconds'),
  'legacy-seconds-left': (target, decision) => writeLegacyFields(target, decision, 'seconds-left'),
}

/**
 * `RateLimit-Policy` and `RateLimit`: RFC 9651 Lists, appended to what earlier limiters of the same
 * request wrote. A failed store says nothing of what remains, so then only the policies are told.
 */
function writeDraft11(target: FieldTarget, decision: Decision, policies: readonly Policy[]): void {
  const states = decision.policies
  if (states.length === 0) return
  const text = textFor(policies, states)
  append(target, 'RateLimit-Policy', text.policyList)
  if (decision.source === 'open' || decision.source === 'closed') return
  append(target, 'RateLimit', serviceLimits(text, decision))
}

function serviceLimits(text: ConstantText, decision: Decision): string {
  const latest = decision.allowed ? Number.POSITIVE_INFINITY : decision.retryAfterMs
  let list = ''
  let index = 0
  for (const state of decision.policies) {
    if (index > 0) list += ', '
    list += `${text.heads[index++]}${wholeUnits(state.remaining)}`
    // Retry-After must not come before the end of the effective window (draft-11, section 6).
    // A limit of 0 is full with nothing in it: no time brings more.
    const effectiveMs =
      state.limit === 0 ? Number.POSITIVE_INFINITY : Math.min(state.nextMs, latest)
    if (effectiveMs < Number.POSITIVE_INFINITY) list += `;t=${secondsUp(effectiveMs)}`
  }
  return list
}

/** What of the fields stays the same from request to request. */
interface ConstantText {
  readonly policyList: string
  /** A policy's item of `RateLimit`, up to its number. */
  readonly heads: readonly string[]
}

type Described = Pick<PolicyState, 'name' | 'limit' | 'windowMs'>

const texts = new WeakMap<readonly Policy[], ConstantText>()

/** A degraded decision may have been made by other limits, or other policies, than the limiter's own. */
function textFor(policies: readonly Policy[], states: readonly PolicyState[]): ConstantText {
  if (!areOf(states, policies)) return compose(states)
  let text = texts.get(policies)
  if (!text) {
    text = compose(policies)
    texts.set(policies, text)
  }
  return text
}

function areOf(states: readonly PolicyState[], policies: readonly Policy[]): boolean {
  if (states.length !== policies.length) return false
  return states.every((state, index) => {
    const policy = policies[index]
    return (
      policy?.limit === state.limit &&
      policy.windowMs === state.windowMs &&
      policy.name === state.name
    )
  })
}

function compose(policies: readonly Described[]): ConstantText {
  return {
    policyList: policies.map(quotaPolicy).join(', '),
    heads: policies.map((policy) => `${sfString(policy.name)};r=`),
  }
}

function quotaPolicy({ name, limit, windowMs }: Described): string {
  const quota = `${sfString(name)};q=${wholeUnits(limit)}`
  // `w` is optional: a count that never starts afresh has no window (see `fromFlexible`).
  return windowMs === Number.POSITIVE_INFINITY
    ? quota
    : `${quota};w=${Math.max(1, secondsUp(windowMs))}`
}

/** RFC 9651, section 4.1.6; policy names are printable ASCII since their construction. */
function sfString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** An Integer of RFC 9651: never negative, no fraction, at most 15 digits. */
function wholeUnits(amount: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.floor(amount)))
}

function append(target: FieldTarget, name: string, list: string): void {
  const earlier = target.getHeader(name)
  target.setHeader(name, earlier === undefined ? list : `${earlier}, ${list}`)
}
