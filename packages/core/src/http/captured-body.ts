/** The bytes of a body, up to a limit; past it, nothing is kept. */
export class CapturedBody {
  readonly #maxBytes: number
  #chunks: (string | Buffer)[] = []
  #length = 0
  #overflowed = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes written so far, whether they are kept or not. */
  get length(): number {
    return this.#length
  }

  get overflowed(): boolean {
    return this.#overflowed
  }

  /** Keeps a copy: a handler may use its buffer again. */
  add(chunk: string | Uint8Array, encoding: unknown): void {
    const isPlain = typeof chunk === 'string' && isUtf8(encoding)
    const bytes = isPlain ? Buffer.byteLength(chunk) : sizeOf(chunk, encoding)
    this.#length += bytes
    if (this.#length > this.#maxBytes) this.drop()
    else if (bytes > 0 && !this.#overflowed)
      this.#chunks.push(isPlain ? chunk : toBuffer(chunk, encoding))
  }

  /** Keeps nothing from now on. */
  drop(): void {
    this.#overflowed = true
    this.#chunks = []
  }

  /** Undefined past the limit. */
  content(): string | Buffer | undefined {
    if (this.#overflowed) return undefined
    const [only, ...more] = this.#chunks
    if (only === undefined) return ''
    if (more.length === 0) return only
    return Buffer.concat(this.#chunks.map((chunk) => toBuffer(chunk, 'utf8')))
  }
}

function isUtf8(encoding: unknown): boolean {
  return typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)
}

function sizeOf(chunk: string | Uint8Array, encoding: unknown): number {
  return typeof chunk === 'string'
    ? Buffer.byteLength(chunk, encoding as BufferEncoding)
    : chunk.byteLength
}

function toBuffer(chunk: string | Uint8Array, encoding: unknown): Buffer {
  return typeof chunk === 'string'
    ? Buffer.from(chunk, encoding as BufferEncoding)
    : Buffer.from(chunk)
}
