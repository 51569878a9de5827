import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { memoryStore } from '@sluice/express'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Compression, frameworks } from './idempotency/apps.ts'
import { post } from './idempotency/client.ts'
import { inspector } from './idempotency/inspector.ts'
import { RawClient } from './idempotency/raw-client.ts'
import type { Handler, Turn } from './idempotency/turns.ts'

/** More than a connection takes that nobody reads from. */
const BYTES = 8_000_000
const CHUNK = 100_000

const file = join(mkdtempSync(join(tmpdir(), 'sluice-')), 'long')
writeFileSync(file, Buffer.alloc(BYTES, 'f'))

const handlers: readonly (readonly [string, Handler])[] = [
  ['a piped stream', (turn) => turn.stream(long())],
  ['a pipeline', (turn) => turn.raw((res) => pipeline(long(), res, () => {}))],
  ['a file', (turn) => turn.file(file)],
  ['a loop of writes', (turn) => turn.raw((res) => void writeLong(res))],
]

describe.each(frameworks)('in $name', (framework) => {
  async function leave(
    handler: Handler,
    options: { how?: 'end' | 'reset'; maxBodyBytes: number; compression?: Compression },
    state: string,
  ) {
    const { how = 'end', ...rest } = options
    const store = memoryStore()
    let response: ServerResponse | undefined
    await using app = await framework.serve({
      store,
      ...rest,
      handler: (turn: Turn) => {
        response = turn.res
        return handler(turn)
      },
    })
    await using client = await RawClient.to(app.site)
    client.socket.pause()
    client.post('k')
    await eventually(() => response?.writableNeedDrain === true)
    await client.leave(how)
    const inspect = inspector(store)
    await eventually(async () => expect(await inspect()).toBe(state))
    const retry = await post(app.site, { key: 'k', body: '{}' })
    expect(retry.status).toBe(state === 'completed' ? 200 : 409)
    if (state === 'completed') expect(retry.bytes.length).toBe(BYTES)
  }

  it.each(handlers)('I9: %s that waits for room goes on and is stored whole', (name, handler) =>
    leave(
      handler,
      { how: name === 'a file' ? 'reset' : 'end', maxBodyBytes: 2 * BYTES },
      'completed',
    ),
  )

  it.each(handlers.slice(0, 3))(
    'I23: %s past the cap goes on and leaves a tombstone',
    (_, handler) => leave(handler, { maxBodyBytes: 1000 }, 'tombstone'),
  )

  it('I9: the same behind a middleware that compresses', () =>
    leave(
      (turn) => {
        turn.set('Content-Type', 'application/json')
        turn.stream(Readable.from(noise()))
      },
      { maxBodyBytes: 1000, compression: 'before' },
      'tombstone',
    ))
})

function long(): Readable {
  return Readable.from(Array.from({ length: BYTES / CHUNK }, () => Buffer.alloc(CHUNK, 'x')))
}

async function writeLong(response: ServerResponse): Promise<void> {
  for await (const chunk of long()) if (!response.write(chunk)) await once(response, 'drain')
  response.end()
}

/** What cannot be compressed to less than a connection takes. */
function* noise(): Generator<Buffer> {
  let state = 1
  for (let sent = 0; sent < BYTES; sent += CHUNK) {
    const chunk = Buffer.alloc(CHUNK)
    for (let at = 0; at < CHUNK; at += 4) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      chunk.writeUInt32LE(state, at)
    }
    yield chunk
  }
}
