import type { ServerResponse } from 'node:http'
import type { StoredResponse } from '../idempotency/record.ts'
import { accepts, codingsOf, decode } from './content-coding.ts'

/** A stored response as this client gets it. */
export interface Replay {
  readonly status: number
  readonly reason: string | undefined
  /** In order; a repeated field has several values. Without those that others have set on the response already. */
  readonly fields: readonly (readonly [name: string, values: readonly string[]])[]
  readonly body: Uint8Array | string
}

/**
 * Prepares a replay: its content coding is one that the client takes, what outer middleware has set stays. A promise
 * only where something must be decoded.
 */
export function prepareReplay(
  stored: StoredResponse,
  acceptEncoding: string | undefined,
  response: ServerResponse,
): Replay | Promise<Replay> {
  const codings = codingsOf(valuesOf(stored, 'content-encoding').join())
  // A part of an encoded representation cannot be decoded.
  if (codings.length === 0 || stored.status === 206 || accepts(acceptEncoding, codings))
    return replayOn(response, stored)
  return decoded(stored, codings).then((plain) => replayOn(response, plain))
}

async function decoded(
  stored: StoredResponse,
  codings: readonly string[],
): Promise<StoredResponse> {
  const { body } = stored
  const content = await decode(typeof body === 'string' ? Buffer.from(body) : body, codings)
  if (!content) return stored
  const headers = stored.headers.filter(([name]) => !ofCoding.test(name))
  return { ...stored, headers, body: content }
}

function replayOn(response: ServerResponse, stored: StoredResponse): Replay {
  const { status, reason, headers, body } = stored
  const fields: [name: string, values: readonly string[]][] = []
  const seen = new Set(['idempotency-replayed'])
  for (const [name] of headers) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) continue
    seen.add(lower)
    const values = merge(lower, outerValues(response, lower), valuesOf(stored, lower))
    if (values) fields.push([name, values])
  }
  fields.push(['Idempotency-Replayed', ['true']])
  return { status, reason, fields, body }
}

function valuesOf({ headers }: StoredResponse, lower: string): string[] {
  const values: string[] = []
  for (const [name, value] of headers)
    if (name.length === lower.length && name.toLowerCase() === lower) values.push(value)
  return values
}

/** What else is said of the encoded bytes. */
const ofCoding = /^content-(encoding|digest|md5)$/i

/** What is said of the stored bytes, and true of no others. */
const ofBody =
  /^(content-(type|encoding|language|location|disposition|range|digest|md5)|repr-digest|etag|last-modified)$/

function outerValues(response: ServerResponse, name: string): string[] {
  const value = response.getHeader(name)
  return value === undefined ? [] : [value].flat().map(String)
}

/** The value to set, or undefined to leave what outer middleware has set. */
function merge(
  name: string,
  outer: readonly string[],
  stored: readonly string[],
): readonly string[] | undefined {
  if (outer.length === 0 || ofBody.test(name)) return stored
  // Both say what the response depends on: none may be lost, or a cache mixes up two of them.
  if (name === 'vary') return [union(outer, stored)]
  if (name === 'set-cookie') {
    const names = new Set(outer.map(cookieName))
    return [...outer, ...stored.filter((cookie) => !names.has(cookieName(cookie)))]
  }
  return undefined
}

function union(...lists: readonly (readonly string[])[]): string {
  const members = lists.flat().flatMap((list) => list.split(',').map((member) => member.trim()))
  const seen = new Set<string>()
  return members
    .filter((member) => !seen.has(member.toLowerCase()) && seen.add(member.toLowerCase()))
    .join(', ')
}

function cookieName(cookie: string): string {
  return cookie.split('=', 1)[0]?.trim() ?? ''
}
