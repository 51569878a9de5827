/** Cuts a stream of RESP2 or RESP3 bytes into whole values: one request or one reply each. */
export class RespFramer {
  #rest: Buffer = Buffer.alloc(0)

  feed(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const values: Buffer[] = []
    for (;;) {
      const end = endOfValue(this.#rest, 0)
      if (end === undefined) return values
      values.push(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** The command of a request, in capitals. */
export function commandOf(request: Buffer): string {
  return (/^\*\d+\r\n\$\d+\r\n(.*)\r\n/.exec(request.toString('latin1'))?.[1] ?? '').toUpperCase()
}

/** RESP3 pushes come unasked. */
export function isPush(reply: Buffer): boolean {
  return reply.toString('latin1', 0, 1) === '>'
}

/** Where the value that begins at `start` ends; `undefined` while bytes are missing. */
function endOfValue(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', start)
  if (lineEnd < 0) return undefined
  const type = bytes.toString('latin1', start, start + 1)
  const next = lineEnd + 2
  const count = Number(bytes.toString('latin1', start + 1, lineEnd))
  if ('$!='.includes(type)) return endOfText(bytes, next, count)
  if ('*~>'.includes(type)) return endOfValues(bytes, next, count)
  if (type === '%') return endOfValues(bytes, next, 2 * count)
  return next
}

function endOfText(bytes: Buffer, start: number, length: number): number | undefined {
  if (length < 0) return start
  const end = start + length + 2
  return end > bytes.length ? undefined : end
}

function endOfValues(bytes: Buffer, start: number, count: number): number | undefined {
  let end: number | undefined = start
  for (let index = 0; index < count && end !== undefined; index++) end = endOfValue(bytes, end)
  return end
}
