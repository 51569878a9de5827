import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'

/** The head of a response, as a handler set it. */
export interface Head {
  readonly status: number
  /** Where it is not the usual one. */
  readonly reason?: string
  readonly fields: readonly (readonly [name: string, value: string])[]
}

/** The head that `writeHead(...args)` would send now: what was set before, and what it is given. */
export function readHead(response: ServerResponse, args: readonly unknown[]): Head {
  const [first, second, third] = args
  const status = typeof first === 'number' ? first | 0 : response.statusCode
  const given = typeof second === 'string' ? third : (second ?? third)
  const fields = overlaid(setFields(response), givenFields(given))
  const reason = typeof second === 'string' ? second : reasonOf(response)
  return reason && reason !== (STATUS_CODES[status] ?? 'unknown')
    ? { status, reason, fields }
    : { status, fields }
}

/** The first value of a field. */
export function fieldOf({ fields }: Head, name: string): string | undefined {
  // Most are told apart by their length, which costs less.
  return fields.find(([known]) => known.length === name.length && known.toLowerCase() === name)?.[1]
}

/** As far as it is known before the end. */
export function bodyLengthOf(request: IncomingMessage, head: Head): number | undefined {
  return endsWithHead(request, head) ? 0 : contentLengthOf(head)
}

/** Whatever is written then (RFC 9112, section 6.3). */
export function endsWithHead({ method }: IncomingMessage, { status }: Head): boolean {
  return method === 'HEAD' || status < 200 || status === 204 || status === 304
}

/** Longer than that, or without an end. */
export function isTooLong(head: Head, maxBytes: number): boolean {
  return (contentLengthOf(head) ?? 0) > maxBytes || isEventStream(head)
}

function contentLengthOf(head: Head): number | undefined {
  const field = fieldOf(head, 'content-length')
  return field === undefined ? undefined : Number(field)
}

function isEventStream(head: Head): boolean {
  return /^\s*text\/event-stream\b/i.test(fieldOf(head, 'content-type') ?? '')
}

/** HTTP/2 has no reason phrases: Node.js warns of reading one. */
function reasonOf(response: ServerResponse): string | undefined {
  return response.req.httpVersionMajor > 1 ? undefined : response.statusMessage
}

function setFields(response: ServerResponse): [string, string][] {
  const names = hasRawNames(response) ? response.getRawHeaderNames() : response.getHeaderNames()
  const fields: [string, string][] = []
  for (const name of names) {
    const value = response.getHeader(name)
    if (typeof value === 'string') fields.push([name, value])
    else fields.push(...lines(name, value))
  }
  return fields
}

function overlaid(set: Head['fields'], given: Head['fields']): Head['fields'] {
  if (given.length === 0) return set
  const names = new Set(given.map(([name]) => name.toLowerCase()))
  return [...set.filter(([name]) => !names.has(name.toLowerCase())), ...given]
}

/** HTTP/2's response knows names in lower case only; Node's types know neither. */
function hasRawNames(
  response: ServerResponse,
): response is ServerResponse & { getRawHeaderNames(): string[] } {
  return 'getRawHeaderNames' in response
}

/** An object, pairs, or names and values in turn. */
function givenFields(given: unknown): [string, string][] {
  if (typeof given !== 'object' || given === null) return []
  if (!Array.isArray(given))
    return Object.entries(given).flatMap(([name, value]) => lines(name, value))
  if (Array.isArray(given[0])) return given.flatMap(([name, value]) => lines(String(name), value))
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < given.length; at += 2)
    pairs.push(...lines(String(given[at]), given[at + 1]))
  return pairs
}

function lines(name: string, value: unknown): [string, string][] {
  if (value === undefined || value === null) return []
  return [value].flat().map((line) => [name, String(line)])
}
