import { hashKey } from '../events.ts'
import type { LockClaim, LockGrant, LockKeys } from './store.ts'

/** A lease that was granted, and from when on it counts: just before its claim was sent, by the monotonic clock. */
export interface TimedGrant extends LockGrant {
  readonly startedAt: number
}

/** Field by field: to spread the claim costs more than all the rest of an uncontended acquire. */
export function timed(claim: LockClaim, fence: number, startedAt: number): TimedGrant {
  const { token, leaseMs, metadata } = claim
  return { token, leaseMs, metadata, fence, startedAt }
}

/** A grant that came when its lease was over already is none. */
export function isOver({ startedAt, leaseMs }: TimedGrant): boolean {
  return performance.now() >= startedAt + leaseMs
}

/** How events name one lock, or several. */
export function hashKeys(keys: LockKeys): string {
  return keys.map(hashKey).join()
}
