import type { Expiring } from '../expiry-heap.ts'
import { WaitingLine } from './memory-line.ts'

/** A key that is held, or kept for somebody, or waited for. */
export interface MemoryLock extends Expiring {
  readonly id: string
  readonly line: WaitingLine
  holder: Holder | undefined
  /** Whom it is kept for. */
  turn: { readonly waiter: string; readonly endsAt: number } | undefined
}

export interface Holder {
  readonly token: string
  readonly fence: number
  readonly metadata: string
  readonly grantedAt: number
  readonly endsAt: number
}

export function emptyLock(id: string): MemoryLock {
  return {
    id,
    line: new WaitingLine(),
    holder: undefined,
    turn: undefined,
    expiresAt: 0,
    position: 0,
  }
}

/** The fence under which the token holds all of them already. */
export function ownFence(
  locks: readonly (MemoryLock | undefined)[],
  token: string,
): number | undefined {
  const fence = locks[0]?.holder?.fence
  const own = locks.every((lock) => lock?.holder?.token === token && lock.holder.fence === fence)
  return own ? fence : undefined
}
