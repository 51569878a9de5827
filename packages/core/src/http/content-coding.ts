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

/**
 * The content behind the codings; undefined when one of them is not known here, the bytes are not what they say, or
 * it is much too long: a few bytes may stand for gigabytes.
 */
export async function decode(
  body: Uint8Array,
  codings: readonly string[],
): Promise<Uint8Array | undefined> {
  let content = body
  try {
    for (const name of codings.toReversed()) {
      const decoder = decoders.get(plainName(name))
      if (!decoder) return undefined
      content = await decoder(content, LIMITS)
    }
    return content
  } catch {
    return undefined
  }
}

function plainName(name: string): string {
  return name.startsWith('x-') ? name.slice(2) : name
}

const LIMITS = { maxOutputLength: 67_108_864 }

type Decoder = (bytes: Uint8Array, limits: typeof LIMITS) => Promise<Uint8Array>

const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
])
