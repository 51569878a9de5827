import { ConfigurationError } from '@sluice/core'
import type { Row } from '../pool.ts'

/** What is added to an outbox. */
export interface NewMessage {
  /** What it is about (`'order:7'`): messages of one aggregate are delivered in order. 1 to 255 characters, no zeros. */
  readonly aggregate: string
  /** What happened (`'order-placed'`): 1 to 255 characters, no zeros. */
  readonly type: string
  /** Anything that JSON has a form for. */
  readonly payload: unknown
}

/** A message on its way out. */
export interface OutboxMessage extends NewMessage {
  /** Its number, the same in every attempt: by it receivers know a message that they have had before. */
  readonly id: string
  /** 1 for the first. */
  readonly attempt: number
  /** When it was added, by the clock of the database. */
  readonly addedAt: Date
}

/** A message that was given up. */
export interface DeadMessage extends NewMessage {
  readonly id: string
  readonly attempts: number
  /** Of the last attempt. `RelayLost` is the name where no relay lived to say more. */
  readonly error: { readonly name: string; readonly message: string }
  readonly addedAt: Date
  readonly diedAt: Date
}

/** The values of sql/outbox/add.sql. @throws ConfigurationError (`configuration`) */
export function valuesOf({ aggregate, type, payload }: NewMessage): [string, string, string] {
  for (const [option, name] of Object.entries({ aggregate, type }))
    if (typeof name !== 'string' || !/^[^\0]{1,255}$/s.test(name))
      throw new ConfigurationError('add', option, name, 'a string of 1 to 255 characters, no zeros')
  const json: unknown = JSON.stringify(payload)
  if (typeof json !== 'string')
    throw new ConfigurationError('add', 'payload', payload, 'something that JSON has a form for')
  return [aggregate, type, json]
}

/** A row of sql/outbox/claim.sql. */
export function decodeMessage(row: Row): OutboxMessage {
  return { ...common(row), attempt: Number(row['attempts']) }
}

/** A row of sql/outbox/dead.sql. */
export function decodeDead(row: Row): DeadMessage {
  const error = JSON.parse(String(row['error'])) as DeadMessage['error']
  const attempts = Number(row['attempts'])
  return { ...common(row), attempts, error, diedAt: new Date(Number(row['died_ms'])) }
}

/** An error as it is kept. */
export function encodeError(error: unknown): string {
  const { name, message } =
    error instanceof Error ? error : { name: 'Error', message: String(error) }
  return JSON.stringify({ name, message: message.slice(0, 2000) })
}

function common(row: Row) {
  return {
    id: String(row['id']),
    aggregate: String(row['aggregate']),
    type: String(row['type']),
    payload: JSON.parse(String(row['payload'])) as unknown,
    addedAt: new Date(Number(row['added_ms'])),
  }
}
