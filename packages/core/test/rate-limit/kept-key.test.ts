import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRateLimiter, fixedWindow } from '../../src/index.ts'
import { DenyCache } from '../../src/rate-limit/deny-cache.ts'
import { detached, keptKey } from '../../src/rate-limit/kept-key.ts'

const refusal = {
  allowed: false,
  remaining: 0,
  retryAfterMs: 60_000,
  resetMs: 60_000,
  nextMs: 60_000,
  delayMs: 0,
}

const anyText = fc.string({ unit: 'binary', maxLength: 130 })

describe('R10: the key by which a process remembers a subject', () => {
  it('is the subject itself where that is short', () => {
    for (const plain of ['a', '203.0.113.7', '{}:*?%\n\0', '\ud800', 'x'.repeat(100)])
      expect(keptKey(plain)).toBe(plain)
  })

  it('is another for another subject, and cannot be forged by asking for a digest', () => {
    const long = 'x'.repeat(101)
    const keys = [long, keptKey(long), keptKey(keptKey(long)), `${long}\ud800`, `${long}\ud801`]
    expect(new Set(keys.map(keptKey)).size).toBe(keys.length)
  })

  it('is short, and the same whether or not it was cut out of something', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(keptKey(text).length).toBeLessThanOrEqual(100)
        expect(detached(text)).toBe(text)
      }),
    )
  })
})

describe('R12: what a caller sends does not decide how much memory its subject takes', () => {
  const subjects = 2000
  const headerBytes = 8000

  it.each([
    ['long keys', (text: string) => text],
    ['keys cut out of a long header', (text: string) => text.slice(20, 60)],
  ])('in the memory store: %s', async (_, key) => {
    const limiter = createRateLimiter({ policy: fixedWindow({ limit: 5, windowMs: 3_600_000 }) })
    const grownBytes = await growth(async (index) => {
      await limiter.consume(key(header(index)))
    })
    expect(grownBytes).toBeLessThan((subjects * headerBytes) / 4)
    expect(await limiter.peek(key(header(1)))).toMatchObject({ remaining: 4 })
  })

  it('in the deny cache: keys cut out of a long header', async () => {
    const cache = new DenyCache(60_000)
    const grownBytes = await growth(async (index) => {
      const key = header(index).slice(20, 60)
      cache.set(key, 1, [refusal], cache.mark(key))
    })
    expect(grownBytes).toBeLessThan((subjects * headerBytes) / 4)
    expect(cache.get(header(1).slice(20, 60), 1)).toBeDefined()
  })

  /** Bytes that stay when so many subjects have come. */
  async function growth(come: (index: number) => Promise<void>): Promise<number> {
    const before = heapBytes()
    for (let index = 0; index < subjects; index++) await come(index)
    return heapBytes() - before
  }

  /** Made of bytes, as a header is: one text, not a reference to its parts. */
  function header(index: number): string {
    return Buffer.alloc(headerBytes, `${index} of the headers; `).toString('latin1')
  }
})

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
