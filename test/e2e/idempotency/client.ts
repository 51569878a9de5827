import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Site } from '../../support/http.ts'

/** A response with its bytes, and with its content behind any coding. */
export interface Answer {
  readonly status: number
  readonly reason: string
  readonly headers: IncomingMessage['headers']
  /** Name and value, with case and order kept. */
  readonly fields: readonly (readonly [string, string])[]
  readonly bytes: Buffer
  readonly text: string
}

export interface PostOptions {
  readonly path?: string
  readonly method?: string
  readonly key?: string | string[]
  readonly body?: string | Buffer
  readonly headers?: Record<string, string | string[]>
  readonly signal?: AbortSignal
}

/** Sends a request on a connection of its own. */
export async function post(site: Site, options: PostOptions = {}): Promise<Answer> {
  const { path = '/', method = 'POST', key, body = '{"amount":1}', headers, signal } = options
  const request = send(`${site.url}${path}`, {
    method,
    agent: false,
    headers: {
      'Content-Type': 'application/json',
      ...(!headers?.['Transfer-Encoding'] && { 'Content-Length': String(Buffer.byteLength(body)) }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
      ...headers,
    },
    ...(signal && { signal }),
  })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const bytes = await buffer(response)
  return {
    status: response.statusCode ?? 0,
    reason: response.statusMessage ?? '',
    headers: response.headers,
    fields: pairs(response.rawHeaders),
    bytes,
    text: decoded(bytes, response.headers['content-encoding']).toString(),
  }
}

/** The `<code>` of a problem document's type. */
export function problemCode({ text }: Answer): string {
  return String(JSON.parse(text).type).replace('urn:sluice:problem:', '')
}

/** What must be the same in a replay: everything but framing, date and mark. */
export function essence({ status, reason, fields, text }: Answer, ...also: readonly string[]) {
  const skipped = new Set([...perConnection, ...also])
  return {
    status,
    reason,
    fields: fields
      .filter(([name]) => !skipped.has(name.toLowerCase()))
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
    text,
  }
}

const perConnection = [
  'connection',
  'content-length',
  'date',
  'idempotency-replayed',
  'keep-alive',
  'trailer',
  'transfer-encoding',
]

function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2) list.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return list
}

function decoded(bytes: Buffer, coding: string | undefined): Buffer {
  if (bytes.length === 0) return bytes
  if (coding === 'gzip') return gunzipSync(bytes)
  if (coding === 'deflate') return inflateSync(bytes)
  if (coding === 'br') return brotliDecompressSync(bytes)
  return bytes
}
