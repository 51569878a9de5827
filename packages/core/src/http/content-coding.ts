import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'

/** The codings of a body, in the order in which they were applied. */
export function codingsOf(contentEncoding: string): string[] {
  const names = contentEncoding.toLowerCase().split(',')
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
}

/** Whether a client takes all of these codings (RFC 9110, section 12.5.3). One that says nothing may know none. */
export function accepts(acceptEncoding: string | undefined, codings: readonly string[]): boolean {
  const weights = new Map<string, number>()
  for (const member of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = member.split(';').map((part) => part.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(plainName(name), q ? Number(q.slice(2)) : 1)
  }
  const weight = (name: string) => weights.get(plainName(name)) ?? weights.get('*') ?? 0
  return codings.every((name) => weight(name) > 0)
}

/** The content behind the codings; undefined when one of them is not known here, or the bytes are not what they say. */
export async function decode(
  body: Uint8Array,
  codings: readonly string[],
): Promise<Uint8Array | undefined> {
  let content = body
  try {
    for (const name of codings.toReversed()) {
      const decoder = decoders[plainName(name)]
      if (!decoder) return undefined
      content = await decoder(content)
    }
    return content
  } catch {
    return undefined
  }
}

function plainName(name: string): string {
  return name.startsWith('x-') ? name.slice(2) : name
}

const decoders: Readonly<Record<string, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}
