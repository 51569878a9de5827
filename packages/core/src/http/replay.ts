import type { ServerResponse } from 'node:http'
import type { StoredResponse } from '../idempotency/record.ts'
import { accepts, codingsOf, decode } from './content-coding.ts'

/** A stored response as this client gets it. */
export interface Replay {
  readonly status: number
  readonly reason: string | undefined
  /** In order; a repeated field has several values. Without those that others have set on the response already. */
  readonly fields: readonly (readonly [name: string, values: readonly string[]])[]
  readonly body: Uint8Array
}

/** Prepares a replay: its content coding is one that the client takes, what outer middleware has set stays. */
export async function prepareReplay(
  stored: StoredResponse,
  acceptEncoding: string | undefined,
  response: ServerResponse,
): Promise<Replay> {
  const { status, reason } = stored
  const { headers, body } = await acceptable(stored, acceptEncoding)
  const grouped = new Map<string, [name: string, values: string[]]>()
  for (const [name, value] of headers) {
    const known = grouped.get(name.toLowerCase())
    if (known) known[1].push(value)
    else grouped.set(name.toLowerCase(), [name, [value]])
  }
  grouped.set('idempotency-replayed', ['Idempotency-Replayed', ['true']])
  const fields = [...grouped.values()].flatMap(([name, values]) => {
    const merged = merge(name.toLowerCase(), outerValues(response, name), values)
    return merged ? [[name, merged] as const] : []
  })
  return { status, reason, fields, body }
}

async function acceptable(
  { status, headers, body: content }: StoredResponse,
  acceptEncoding: string | undefined,
): Promise<{ headers: StoredResponse['headers']; body: Uint8Array }> {
  const body = typeof content === 'string' ? Buffer.from(content) : content
  const codings = codingsOf(
    headers.flatMap(([name, value]) => (isNamed(name, 'content-encoding') ? [value] : [])).join(),
  )
  // A part of an encoded representation cannot be decoded.
  if (codings.length === 0 || status === 206 || accepts(acceptEncoding, codings))
    return { headers, body }
  const decoded = await decode(body, codings)
  if (!decoded) return { headers, body }
  return { headers: headers.filter(([name]) => !ofCoding.test(name)), body: decoded }
}

/** What else is said of the encoded bytes. */
const ofCoding = /^content-(encoding|digest|md5)$/i

/** What is said of the stored bytes, and true of no others. */
const ofBody =
  /^(content-(type|encoding|language|location|disposition|range|digest|md5)|repr-digest|etag|last-modified)$/

function isNamed(name: string, lower: string): boolean {
  return name.toLowerCase() === lower
}

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
  if (outer.length === 0 || name === 'idempotency-replayed' || ofBody.test(name)) return stored
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
