import type { IncomingMessage } from 'node:http'

/** What an application has of a request's body. */
export interface CapturedContent {
  /** The bytes, where the application keeps them: `req.rawBody`. */
  readonly raw: unknown
  /** What a parser made of them: `req.body`. */
  readonly parsed: unknown
  /** What a parser of forms made of files: `req.file`, `req.files`. */
  readonly files: readonly unknown[]
}

/** The body of a request, as far as anybody has read it. */
export type KnownContent =
  | { readonly kind: 'none' }
  | { readonly kind: 'bytes'; readonly bytes: string | Uint8Array }
  | { readonly kind: 'parsed'; readonly value: unknown; readonly files: readonly UploadedFile[] }

/** `not-captured`: there is a body, and nobody has read it. */
export type Content = KnownContent | { readonly kind: 'not-captured' }

/** A file of a form, however its parser describes it. */
export interface UploadedFile {
  readonly field: string
  readonly filename: string
  readonly type: string
  /** Its bytes, or the path to them; undefined when the parser sent them elsewhere. */
  readonly bytes: Uint8Array | undefined
  readonly path: string | undefined
}

/** Tells a body that is empty from one that nobody has read: parsers leave `{}` for either. */
export function contentOf(request: IncomingMessage, captured: CapturedContent): Content {
  const { raw, parsed } = captured
  if (isBytes(raw)) return { kind: 'bytes', bytes: raw }
  const files = captured.files.flatMap((found) => filesIn(found))
  const isRead = parsed !== undefined && request.readableEnded && !isPlaceholder(parsed, request)
  if (files.length > 0 || (hasBody(request) && isRead) || isFilled(parsed))
    return isBytes(parsed) && isWhole(parsed, request)
      ? { kind: 'bytes', bytes: parsed }
      : { kind: 'parsed', value: parsed, files }
  return hasBody(request) ? { kind: 'not-captured' } : { kind: 'none' }
}

/**
 * Whether a body that was announced without a length, and that nobody has read, is empty after all: HTTP/2 and chunks
 * tell it only then.
 */
export async function isEmptyAfterAll(request: IncomingMessage): Promise<boolean> {
  if (request.headers['content-length'] !== undefined) return false
  // Nothing more will be heard of it.
  if (request.readableEnded || request.destroyed) return false
  await new Promise<void>((resolve) => {
    const settle = () => {
      for (const event of events) request.off(event, settle)
      resolve()
    }
    for (const event of events) request.on(event, settle)
  })
  const chunk: unknown = request.read()
  if (chunk === null) return true
  request.unshift(chunk)
  return false
}

const events = ['readable', 'end', 'close'] as const

function isBytes(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

/** The `{}` of a parser that has passed a body by, which somebody else has read then. No parser makes it of this body. */
function isPlaceholder(parsed: unknown, { headers }: IncomingMessage): boolean {
  if (typeof parsed !== 'object' || parsed === null || !isEmptyObject(parsed)) return false
  const type = headers['content-type'] ?? ''
  if (/^\s*multipart\//i.test(type)) return Number(headers['content-length']) > LONGEST_EMPTY_FORM
  return !/json|urlencoded/i.test(type)
}

function isEmptyObject(value: object): boolean {
  return Object.keys(value).length === 0 && !(Symbol.iterator in value)
}

/** A boundary has 70 characters at most (RFC 2046, section 5.1.1). */
const LONGEST_EMPTY_FORM = 78

/** A parser of JSON makes a string of a string, one of text makes one of anything: then it is as long as the body. */
function isWhole(parsed: string | Uint8Array, { headers }: IncomingMessage): boolean {
  if (typeof parsed !== 'string' || !headers['content-type']?.includes('json')) return true
  return String(Buffer.byteLength(parsed)) === headers['content-length']
}

function isFilled(value: unknown): boolean {
  if (isBytes(value)) return value.length > 0
  if (typeof value !== 'object' || value === null) return false
  return Object.keys(value).length > 0
}

function hasBody(request: IncomingMessage): boolean {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined) return true
  if (headers['content-length'] !== undefined) return Number(headers['content-length']) > 0
  const stream: unknown = Reflect.get(request, 'stream')
  return (
    typeof stream === 'object' &&
    stream !== null &&
    Reflect.get(stream, 'endAfterHeaders') === false
  )
}

/** Files come one by one, in arrays, or by field. Names differ: multer, formidable, express-fileupload. */
function filesIn(found: unknown, field = ''): UploadedFile[] {
  if (typeof found !== 'object' || found === null) return []
  if (Array.isArray(found)) return found.flatMap((file) => filesIn(file, field))
  const first = <T>(is: (value: unknown) => value is T, ...names: readonly string[]) =>
    names.map((name): unknown => Reflect.get(found, name)).find(is)
  const type = first(isText, 'mimetype', 'type')
  if (type === undefined)
    return Object.entries(found).flatMap(([name, file]) => filesIn(file, name))
  return [
    {
      field: first(isText, 'fieldname') ?? field,
      filename: first(isText, 'originalname', 'originalFilename', 'name') ?? '',
      type: type.toLowerCase(),
      bytes: first(isArray, 'buffer', 'data'),
      path: first(isText, 'path', 'filepath', 'tempFilePath'),
    },
  ]
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isArray(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}
