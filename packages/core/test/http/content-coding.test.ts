import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { accepts, codingsOf, decode } from '../../src/http/content-coding.ts'

describe('accepts', () => {
  it.each([
    ['gzip', 'gzip', true],
    ['gzip', 'br', false],
    ['*', 'br', true],
    ['gzip;q=0, *', 'gzip', false],
    ['x-gzip', 'gzip', true],
    ['GZIP;q=0.5', 'gzip', true],
    [undefined, 'gzip', false],
    ['br', 'br, gzip', false],
  ])('I6: a client that says %s takes %s: %s', (field, codings, taken) => {
    expect(accepts(field, codingsOf(codings))).toBe(taken)
  })
})

describe('decode', () => {
  it('I6: undoes codings, the last one first', async () => {
    const bytes = Buffer.from('content')
    expect(await decode(gzipSync(bytes), ['gzip'])).toEqual(bytes)
    expect(await decode(deflateSync(bytes), ['deflate'])).toEqual(bytes)
    expect(await decode(gzipSync(brotliCompressSync(bytes)), ['br', 'gzip'])).toEqual(bytes)
  })

  it('is undefined for what it does not know, and for bytes that are no such coding', async () => {
    expect(await decode(Buffer.from('x'), ['unheard-of'])).toBeUndefined()
    expect(await decode(Buffer.from('x'), ['constructor'])).toBeUndefined()
    expect(await decode(Buffer.from('x'), ['gzip'])).toBeUndefined()
  })

  it('I6: is undefined for a few bytes that stand for very many', async () => {
    expect(await decode(gzipSync(Buffer.alloc(70_000_000)), ['gzip'])).toBeUndefined()
  })
})
