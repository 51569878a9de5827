import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { canonicalJson, canonicalJsonText } from '../http/canonical-json.ts'
import { parseMultipart } from '../http/multipart.ts'
import type { KnownContent, UploadedFile } from '../http/request-content.ts'

/** What a request asks for. */
export interface RequestDescription {
  readonly method: string
  /** The full path, with the query: never what a router left of it. */
  readonly url: string
  readonly contentType: string
  readonly content: KnownContent
}

/**
 * One text for all requests that ask for the same: method, path, query by name, content type, and the body by its
 * content. Throws a RangeError for JSON that is nested too deeply. A promise only where files have to be read.
 */
export function fingerprintOf(request: RequestDescription): string | Promise<string> {
  const { method, contentType, content } = request
  const [path, query] = splitUrl(request.url)
  const type = mediaType(contentType)
  const whole = (body: string) => JSON.stringify([method, path, sortPairs(query), type, body])
  const body = bodyText(content, type, contentType)
  return typeof body === 'string' ? whole(body) : body.then(whole)
}

/** The same where the application says what the content is: only method and path are added. */
export function fingerprintWith(
  own: string | Uint8Array,
  { method, url }: Pick<RequestDescription, 'method' | 'url'>,
): string {
  return JSON.stringify([method, splitUrl(url)[0], typeof own === 'string' ? own : [digest(own)]])
}

/** Without the origin, which a request through a proxy may have. */
function splitUrl(url: string): [path: string, query: string] {
  if (url.startsWith('/') && !url.includes('?')) return [url, '']
  const [, path = '', query = ''] =
    /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?]*)\??(.*)$/is.exec(url) ?? []
  return [path, query]
}

/** Sorted by name; the sort is stable, so values of one name stay in order. */
function sortPairs(pairs: string): string {
  if (!pairs.includes('&')) return pairs
  const named = pairs.split('&').filter((pair) => pair !== '')
  return named
    .map((pair) => ({ pair, name: pair.split('=', 1)[0] ?? '' }))
    .sort((a, b) => compare(a.name, b.name))
    .map(({ pair }) => pair)
    .join('&')
}

/** Case does not matter, nor the order of parameters; a boundary is chosen anew by each attempt. */
function mediaType(contentType: string): string {
  if (/^[a-z]+\/[a-z0-9.+-]+$/.test(contentType)) return contentType
  const [essence = '', ...parameters] = contentType.split(';').map((part) => part.trim())
  const kept = parameters
    .map((parameter) => parameter.toLowerCase().replaceAll('"', ''))
    .filter((parameter) => !/^(boundary=|charset=utf-?8$|$)/.test(parameter))
  return [essence.toLowerCase(), ...kept.sort()].join(';')
}

function bodyText(
  content: KnownContent,
  type: string,
  contentType: string,
): string | Promise<string> {
  if (content.kind === 'none') return ''
  if (content.kind === 'bytes') return bytesText(content.bytes, type, contentType)
  const { value = {}, files } = content
  const fields = `parsed:${canonicalJson(value)}`
  return files.length === 0 ? fields : withFiles(fields, files)
}

async function withFiles(fields: string, files: readonly UploadedFile[]): Promise<string> {
  const described = await Promise.all(files.map(describeFile))
  return `${fields}:${JSON.stringify(sortByName(described))}`
}

function bytesText(bytes: string | Uint8Array, mediaType: string, contentType: string): string {
  const type = mediaType.split(';', 1)[0] ?? ''
  const text = textOf(bytes)
  if (text !== undefined && /^application\/(.+\+)?json$/.test(type)) return canonicalOr(text)
  if (text !== undefined && type === 'application/x-www-form-urlencoded')
    return `form:${sortPairs(text)}`
  if (type === 'multipart/form-data') {
    const parts = parseMultipart(Buffer.from(bytes), contentType)
    if (parts)
      return `parts:${JSON.stringify(
        sortByName(
          parts.map((part) => [part.name, part.filename ?? null, part.type, digest(part.content)]),
        ),
      )}`
  }
  return `bytes:${digest(bytes)}`
}

/** What is no JSON, or no parser would take, counts byte by byte. */
function canonicalOr(text: string): string {
  try {
    const canonical = canonicalJsonText(text)
    if (canonical !== undefined) return `json:${canonical}`
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return `bytes:${digest(text)}`
}

type Described = readonly [name: string, filename: string | null, type: string, digest: string]

async function describeFile(file: UploadedFile): Promise<Described> {
  return [file.field, file.filename, file.type, await fileDigest(file)]
}

async function fileDigest({ bytes, path, field }: UploadedFile): Promise<string> {
  if (bytes && (bytes.length > 0 || path === undefined)) return digest(bytes)
  if (path === undefined)
    throw new TypeError(
      `the content of the file \`${field}\` is not in this process: give idempotency() a \`fingerprint\``,
    )
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('base64url')
}

function sortByName(parts: readonly Described[]): readonly Described[] {
  return parts.toSorted(([a], [b]) => compare(a, b))
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Undefined for what is no UTF-8: its other bytes would all become the same character. */
function textOf(bytes: string | Uint8Array): string | undefined {
  if (typeof bytes === 'string') return bytes
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined
}

function digest(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}
