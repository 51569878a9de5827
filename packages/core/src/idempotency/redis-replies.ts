import { decodeResponse, decodeTombstone } from './codec.ts'
import type { IdempotencyRecord } from './record.ts'
import type { ClaimReply, SettleReply, Subject } from './store.ts'

/** The reply of lua/idempotency/claim.lua for one record. */
export function decodeClaim(reply: unknown): ClaimReply {
  if (Buffer.isBuffer(reply)) return { state: 'replay', response: decodeResponse(reply) }
  const [first, second, third] = reply as [Buffer | number, number & Buffer, number]
  if (typeof first === 'number') return { state: 'started', fence: first, attempt: second }
  const state = first.toString()
  switch (state) {
    case 'tombstone':
      return { state, tombstone: decodeTombstone(second) }
    case 'in-progress':
      return { state, runningMs: second, leaseLeftMs: third }
    case 'unknown':
      return { state, since: new Date(second) }
    case 'mismatch':
    case 'stranger':
    case 'withdrawn':
      return { state }
    default:
      throw new TypeError(`no reply of the script begins with '${state}'`)
  }
}

/** The reply of lua/idempotency/settle.lua for one record. */
export function decodeSettle(reply: unknown): SettleReply {
  const outcome = (['refused', 'settled', 'settled-late'] as const)[Number(reply)]
  if (!outcome) throw new TypeError('expected 0, 1 or 2')
  return outcome
}

/** The reply of lua/idempotency/read.lua. */
export function decodeRecord(subject: Subject, reply: unknown): IdempotencyRecord | undefined {
  const told = reply as [] | [Buffer, number, number, number, number, Buffer]
  if (told.length === 0) return undefined
  const [letter, since, attempt, fence, expiresInMs, payload] = told
  const state = states[letter.toString()]
  if (!state) throw new TypeError(`a record in no known state: '${letter}'`)
  const common = { ...subject, state, attempt, fence, since: new Date(since), expiresInMs }
  if (state === 'completed') return { ...common, response: decodeResponse(payload) }
  return state === 'tombstone' ? { ...common, tombstone: decodeTombstone(payload) } : common
}

const states: { readonly [letter: string]: IdempotencyRecord['state'] } = {
  C: 'claimed',
  D: 'completed',
  T: 'tombstone',
  U: 'unknown',
}
