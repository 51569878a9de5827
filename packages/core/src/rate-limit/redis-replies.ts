import type { BucketState } from './algorithms/bucket.ts'
import type { FixedWindowState } from './algorithms/fixed-window.ts'
import type { SlidingWindowState } from './algorithms/sliding-window.ts'
import { algorithmOf, standing } from './algorithms/standing.ts'
import type { Algorithm, Policy } from './policy.ts'
import type { Standing } from './store.ts'

/** What was asked of the scripts. */
export interface Asked {
  readonly cost: number
  /** Whether the cost is in the state already, where all policies admitted it. */
  readonly charging: boolean
}

/**
 * The standings of the subject whose numbers begin at `from` of a flat reply: for each policy its state, as
 * `tell` in lua/rate-limit/ wrote it, marked where it refuses. Its times are relative to the server's
 * present, so the twins in memory compute the rest with a clock that stands at 0.
 */
export function decodeStandings(
  reply: readonly number[],
  from: number,
  policies: readonly Policy[],
  asked: Asked,
): readonly Standing[] {
  let all = true
  let at = from
  for (const policy of policies) {
    all &&= isAdmitted(reply[at])
    at += replyWidth(policy)
  }
  at = from
  return policies.map((policy) => {
    const start = at
    at += replyWidth(policy)
    return read(reply, start, policy, asked, all)
  })
}

/** How many numbers of a reply are one policy's. */
export function replyWidth(policy: Policy): number {
  return widths[policy.algorithm]
}

function read(
  reply: readonly number[],
  at: number,
  policy: Policy,
  { cost, charging }: Asked,
  all: boolean,
): Standing {
  const marked = reply[at] ?? Number.NaN
  const allowed = isAdmitted(marked)
  const first = allowed ? marked : -1 - marked
  const second = reply[at + 1] ?? Number.NaN
  if (policy.algorithm === 'sliding-log')
    return readLog(policy, allowed, cost, first, reply.slice(at + 1, at + 4))
  const state =
    policy.algorithm === 'fixed-window'
      ? fixedWindow(first, second)
      : policy.algorithm === 'sliding-window'
        ? slidingWindow(first, second, reply[at + 2] ?? Number.NaN)
        : bucket(first, second)
  const delayMs = all ? algorithmOf(policy).delayMs(state, policy, 0, charging ? cost : 0) : 0
  return standing(state, policy, 0, { allowed, cost, delayMs })
}

/** A refusal's first number is counted down from -1 (`mark` in lua/rate-limit/quota.lua). */
function isAdmitted(first: number | undefined): boolean {
  return first !== undefined && first >= 0
}

/** Only the server has the log's entries, so it computes the waits itself. */
function readLog(
  { limit }: Policy,
  allowed: boolean,
  cost: number,
  used: number,
  [waitMs = Number.NaN, nextMs = Number.NaN, resetMs = Number.NaN]: readonly number[],
): Standing {
  const refusedForMs = cost > limit ? Number.POSITIVE_INFINITY : waitMs
  return {
    allowed,
    remaining: Math.max(0, limit - used),
    retryAfterMs: allowed ? 0 : refusedForMs,
    resetMs,
    nextMs: used > 0 && limit > 0 ? nextMs : 0,
    delayMs: 0,
  }
}

function fixedWindow(used: number, leftMs: number): FixedWindowState {
  return { used, endsAt: leftMs }
}

function slidingWindow(ageMs: number, previous: number, current: number): SlidingWindowState {
  return { startedAt: -ageMs, previous, current }
}

function bucket(ageMs: number, spent: number): BucketState {
  return { anchor: -ageMs, spent }
}

const widths: { readonly [Name in Algorithm]: number } = {
  'fixed-window': 2,
  'sliding-window': 3,
  'sliding-log': 4,
  'token-bucket': 2,
  'leaky-bucket': 2,
}
