import type { ClaimReply, IdempotencyRecord, SettleReply, Subject } from '@sluice/core'
import { decodeResponse, decodeTombstone } from '@sluice/core/store-kit'
import type { Row } from '../pool.ts'

/** A row of sql/idempotency/claim.sql. Numbers may be strings or bigints: drivers differ, and are configured. */
export function decodeClaim(row: Row): ClaimReply {
  const state = String(row['reply'])
  switch (state) {
    case 'started':
      return { state, fence: Number(row['fence']), attempt: Number(row['attempt']) }
    case 'completed':
      return { state: 'replay', response: decodeResponse(bytes(row['payload'])) }
    case 'tombstone':
      return { state, tombstone: decodeTombstone(bytes(row['payload'])) }
    case 'in-progress': {
      const [runningMs, leaseLeftMs] = [Number(row['running_ms']), Number(row['lease_left_ms'])]
      return { state, runningMs, leaseLeftMs }
    }
    case 'unknown':
      return { state, since: new Date(Number(row['since_ms'])) }
    case 'mismatch':
    case 'stranger':
    case 'withdrawn':
      return { state }
    default:
      throw new TypeError(`no reply of the statement is '${state}'`)
  }
}

/** A row of sql/idempotency/settle.sql. */
export function decodeSettle(row: Row): SettleReply {
  const reply = row['reply']
  if (reply === 'settled' || reply === 'settled-late' || reply === 'refused') return reply
  throw new TypeError(`no reply of the statement is '${reply}'`)
}

/** A row of sql/idempotency/read.sql. */
export function decodeRecord(subject: Subject, row: Row): IdempotencyRecord {
  const state = row['state'] as IdempotencyRecord['state']
  const common = { ...subject, state, ...numbers(row) }
  if (state === 'completed') return { ...common, response: decodeResponse(bytes(row['payload'])) }
  if (state !== 'tombstone') return common
  return { ...common, tombstone: decodeTombstone(bytes(row['payload'])) }
}

/** A row of sql/idempotency/unknown.sql. */
export function decodeUnknown(row: Row): IdempotencyRecord {
  const [scope, key] = JSON.parse(String(row['subject'])) as [string, string]
  return { scope, key, state: 'unknown', ...numbers(row) }
}

function numbers(row: Row) {
  return {
    attempt: Number(row['attempt']),
    fence: Number(row['fence']),
    since: new Date(Number(row['since_ms'])),
    expiresInMs: Number(row['left_ms']),
  }
}

function bytes(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) throw new TypeError('the driver gave no bytes for a bytea')
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
