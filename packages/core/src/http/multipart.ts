/** A part of a multipart body. */
export interface Part {
  readonly name: string
  /** Undefined for a field that is no file. */
  readonly filename: string | undefined
  readonly type: string
  readonly content: Buffer
}

/** The parts of a `multipart/form-data` body (RFC 7578); undefined for what is none. */
export function parseMultipart(body: Buffer, contentType: string): readonly Part[] | undefined {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare
  if (!boundary) return undefined
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  // The first delimiter has no line break before it.
  const whole = Buffer.concat([Buffer.from('\r\n'), body])
  const parts: Part[] = []
  let at = whole.indexOf(delimiter)
  while (at >= 0) {
    const start = at + delimiter.length
    const behind = whole.toString('latin1', start, start + 2)
    if (behind === '--') return parts
    // A line that only begins like a delimiter is one to some parsers, and content to others.
    if (behind !== '\r\n') return undefined
    const next = whole.indexOf(delimiter, start)
    if (next < 0) return undefined
    const part = parsePart(whole.subarray(start, next))
    if (!part) return undefined
    parts.push(part)
    at = next
  }
  return undefined
}

/** A part begins with the line break that ends its delimiter. */
function parsePart(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  // Not as UTF-8: it makes one character of all bytes that are none.
  const head = bytes.toString('latin1', 0, end)
  const disposition = /^content-disposition:.*$/im.exec(head)?.[0] ?? ''
  const name = parameter(disposition, 'name')
  if (name === undefined) return undefined
  return {
    name,
    filename: parameter(disposition, 'filename'),
    type: /^content-type:(.*)$/im.exec(head)?.[1]?.trim().toLowerCase() ?? '',
    content: bytes.subarray(end + 4),
  }
}

function parameter(field: string, name: string): string | undefined {
  const [, quoted, bare] =
    new RegExp(`;\\s*${name}\\*?=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, 'i').exec(field) ?? []
  return quoted ?? bare
}
