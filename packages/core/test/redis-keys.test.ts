import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyPart } from '../src/redis/keys.ts'

/** Any UTF-16, lone surrogates too, with more of what could do harm. */
const anyString = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'{}:*?[]\\%uh0123456789abcdefABC \n\0'),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.integer({ min: 0xd7f0, max: 0xe010 }).map((unit) => String.fromCharCode(unit)),
    ),
    { minLength: 1, maxLength: 130, size: 'max' },
  )
  .map((units) => units.join(''))

describe('R10: a part of a key', () => {
  it('is itself where it can be', () => {
    for (const plain of [
      'a',
      'user@example.com',
      '203.0.113.7',
      'a/b+c=d~e,f;g!h&i-j',
      'x'.repeat(100),
    ])
      expect(keyPart(plain)).toBe(plain)
  })

  it('has no character that means something to Redis, and is never empty or long', () => {
    fc.assert(
      fc.property(anyString, (input) => {
        expect(keyPart(input)).toMatch(/^[A-Za-z0-9._@/+=~,;!&%-]{1,300}$/)
      }),
      { numRuns: 2000 },
    )
    expect(keyPart('x'.repeat(10_000)).length).toBeLessThan(100)
    expect(keyPart('{'.repeat(10_000)).length).toBeLessThan(100)
  })

  it('is another for another input', () => {
    fc.assert(
      fc.property(anyString, anyString, (a, b) => {
        expect(keyPart(a) === keyPart(b)).toBe(a === b)
      }),
      { numRuns: 5000 },
    )
  })

  it('says what it was made of, where it is no hash', () => {
    fc.assert(
      fc.property(anyString, (input) => {
        const part = keyPart(input)
        fc.pre(!part.startsWith('%h'))
        expect(decoded(part)).toBe(input)
      }),
      { numRuns: 2000 },
    )
  })

  it('is another for an input that looks like what another becomes', () => {
    fc.assert(
      fc.property(anyString, (input) => {
        const part = keyPart(input)
        expect(keyPart(part) === part).toBe(part === input)
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps long inputs apart by their last unit, and lone surrogates from one another', () => {
    const long = 'x'.repeat(10_000)
    const inputs = [long, `${long}y`, `${long}z`, `${long}\ud800`, `${long}\udc00`, `${long}\ufffd`]
    const short = ['\ud800', '\udc00', '\ufffd', '\ud800\udc00', '\udc00\ud800', '?', '']
    expect(new Set([...inputs, ...short].map(keyPart)).size).toBe(inputs.length + short.length)
  })
})

/** `%u` and four digits, `%` and two, or the character itself: no part can be read in two ways. */
function decoded(part: string): string {
  return part.replace(/%u([0-9a-f]{4})|%([0-9a-f]{2})/g, (_, long?: string, short?: string) =>
    String.fromCharCode(Number.parseInt(long ?? short ?? '', 16)),
  )
}
