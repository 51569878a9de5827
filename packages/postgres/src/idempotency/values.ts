import type { Lifetimes, Settlement, Subject } from '@sluice/core'
import { encodeResponse, encodeTombstone } from '@sluice/core/store-kit'
import { digestName } from '../digest.ts'

/** The values of sql/idempotency/settle.sql. */
export function settlementValues(
  subject: Subject,
  owner: string | undefined,
  settlement: Settlement,
  { leaseMs, resultTtlMs }: Lifetimes,
): unknown[] {
  const { state } = settlement
  const change = state === 'absent' ? ['free', leaseMs] : [state, resultTtlMs]
  const who = [idOf(subject), nameOf(subject), owner ?? null]
  return [...who, ...change, payloadOf(settlement)]
}

/** JSON has a form for every string, which text in PostgreSQL has not. */
export function nameOf({ scope, key }: Subject): string {
  return JSON.stringify([scope, key])
}

export function idOf(subject: Subject): Buffer {
  return digestName(nameOf(subject))
}

function payloadOf(settlement: Settlement): Buffer | null {
  if (settlement.state === 'completed') return Buffer.from(encodeResponse(settlement.response))
  if (settlement.state !== 'tombstone') return null
  return Buffer.from(encodeTombstone(settlement.tombstone))
}
