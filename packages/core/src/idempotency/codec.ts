import type { StoredResponse, Tombstone } from './record.ts'

/**
 * A response as one value: a line of JSON with all but the body, then the body's own bytes, so that a store holds
 * nothing but them and some thirty bytes more, whatever is in them.
 */
export function encodeResponse(response: StoredResponse): string | Buffer {
  const { body } = response
  if (typeof body === 'string') return head(TEXT, response) + body
  return Buffer.concat([Buffer.from(head(BYTES, response)), body])
}

function head(kind: number, { status, reason, headers }: StoredResponse): string {
  const words: (string | number)[] = [kind, status, reason ?? 0]
  for (const [name, value] of headers) words.push(name, value)
  return `${JSON.stringify(words)}\n`
}

/** The response that {@link encodeResponse} was given; its body is a view of `payload`. */
export function decodeResponse(payload: Buffer): StoredResponse {
  const end = payload.indexOf('\n')
  const [kind, status, reason, ...flat] = JSON.parse(payload.toString('utf8', 0, end)) as Head
  const headers: [string, string][] = []
  for (let at = 0; at < flat.length; at += 2)
    headers.push([flat[at] as string, flat[at + 1] as string])
  const bytes = payload.subarray(end + 1)
  const body = kind === TEXT ? bytes.toString() : bytes
  return reason === 0 ? { status, headers, body } : { status, reason, headers, body }
}

export function encodeTombstone(tombstone: Tombstone): string {
  return JSON.stringify(tombstone)
}

export function decodeTombstone(payload: Buffer): Tombstone {
  return JSON.parse(payload.toString()) as Tombstone
}

type Head = readonly [kind: number, status: number, reason: string | 0, ...headers: string[]]

const TEXT = 0
const BYTES = 1
