import type { AcquireReply, LockHolder, PassReply } from './store.ts'

/** The reply of lua/lock/acquire.lua and acquire-all.lua. */
export function decodeAcquire(reply: unknown): AcquireReply {
  return Array.isArray(reply) ? held(reply[0], reply[1]) : granted(reply)
}

/** The reply of lua/lock/pass.lua. */
export function decodePass(reply: unknown): PassReply {
  const [released, first, since] = reply as readonly unknown[]
  const next = since === undefined ? granted(first) : held(first, since)
  return { released: Number(released) === 1, next }
}

/** The reply of lua/lock/inspect.lua. */
export function decodeHolder(reply: unknown): LockHolder | undefined {
  const told = reply as readonly unknown[]
  if (told.length === 0) return undefined
  return {
    fence: integer(told[0]),
    metadata: String(told[1]),
    heldMs: integer(told[2]),
    remainingMs: integer(told[3]),
    waiters: integer(told[4]),
  }
}

function granted(fence: unknown): AcquireReply {
  return { state: 'granted', fence: integer(fence) }
}

function held(leftMs: unknown, since: unknown): AcquireReply {
  const came = integer(since)
  return came > 0
    ? { state: 'held', leftMs: integer(leftMs), since: came }
    : { state: 'held', leftMs: integer(leftMs) }
}

/** Clients can be set to give integers as strings. */
export function integer(reply: unknown): number {
  const number = Number(reply)
  if (!Number.isSafeInteger(number)) throw new TypeError('expected an integer from the server')
  return number
}
