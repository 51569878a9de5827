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
    if (whole.toString('latin1', start, start + 2) === '--') return parts
    const lineEnd = whole.indexOf('\r\n', start)
    const next = whole.indexOf(delimiter, start)
    if (lineEnd < 0 || next < 0) return undefined
    const part = parsePart(whole.subarray(lineEnd, next))
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
  const head = bytes.toString('utf8', 0, end)
  const disposition = /^content-disposition:.*$/im.exec(head)?.[0] ?? ''
  const name = parameter(disposition, 'name')
  if (name === undefined) return undefined
  return {
    name,
    filename: parameter(disposition, 'filename'),
    type: /^content-type:[ \t]*(.*?)[ \t]*$/im.exec(head)?.[1]?.toLowerCase() ?? '',
    content: bytes.subarray(end + 4),
  }
}

function parameter(field: string, name: string): string | undefined {
  const [, quoted, bare] =
    new RegExp(`;\\s*${name}\\*?=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, 'i').exec(field) ?? []
  return quoted ?? bare
}
