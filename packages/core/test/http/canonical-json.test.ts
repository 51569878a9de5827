import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, canonicalJsonText, canonicalNumber } from '../../src/http/canonical-json.ts'

describe('canonicalJson', () => {
  it('I3: is the same for text and for what a parser makes of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, undefined, 1)
        expect(canonicalJsonText(text)).toBe(canonicalJson(JSON.parse(text)))
      }),
    )
  })

  it('I3: tells values apart exactly as a parser does, but for the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (a, b) => {
        const isEqual = sorted(a) === sorted(b)
        expect(canonicalJson(a) === canonicalJson(b)).toBe(isEqual)
      }),
    )
  })

  it.each([
    ['{"a":1,"b":2}', '{"b":2,"a":1}', true],
    ['[1,2]', '[2,1]', false],
    ['1.0', '1', true],
    ['1e2', '100', true],
    ['-0', '0', true],
    ['0.10', '1e-1', true],
    ['9007199254740993', '9007199254740992', false],
    ['1', '"1"', false],
    ['"n1e0"', '1', false],
    ['{"s":1}', '{"n":1}', false],
    ['"\\u0061"', '"a"', true],
    ['{"a":"1.0"}', '{"a":"1"}', false],
    ['{"a":1,"a":2}', '{"a":2}', true],
    ['null', '"null"', false],
    ['{"__proto__":1}', '{}', false],
    ['{"toJSON":1}', '{}', false],
  ])('I3: %s and %s are the same: %s', (a, b, same) => {
    expect(canonicalJsonText(a) === canonicalJsonText(b)).toBe(same)
  })

  it.each(['{"a":', '01', '[-01]', '"a', '"a\\', '1 2', '+1', '.5', '1.', '0x10'])(
    'I3: is undefined for text that is no JSON: %s',
    (text) => {
      expect(canonicalJsonText(text)).toBeUndefined()
    },
  )

  it('I3: takes no longer than other text for one that was made to take long', () => {
    const many = 500_000
    expect(canonicalJsonText(`1${'0'.repeat(many)}1`)).toMatch(/^10+1e0$/)
    expect(canonicalJsonText(`"${'\\"'.repeat(many)}`)).toBeUndefined()
    expect(canonicalJsonText(`${'"a" '.repeat(many)}"`)).toBeUndefined()
  })

  it.each([
    [Number.POSITIVE_INFINITY, null],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    [new Map([['a', 1]]), new Map([['a', 2]])],
    [new Set(['a']), new Set(['b'])],
    [new URLSearchParams('a=1'), new URLSearchParams('a=2')],
    [[undefined, 1], [1]],
  ])('I3: values of a parser that JSON does not know are told apart: %s and %s', (a, b) => {
    expect(canonicalJson([a])).not.toBe(canonicalJson([b]))
  })

  it('I3: refuses what shows nothing of its content', () => {
    expect(() => canonicalJson({ file: new Blob(['a']) })).toThrow('`fingerprint`')
    expect(canonicalJson(Object.create(null))).toBe('{}')
  })

  it('refuses what is nested too deeply, instead of overflowing', () => {
    expect(() => canonicalJsonText('['.repeat(50_000) + ']'.repeat(50_000))).toThrow(RangeError)
  })

  it('writes a number by its value', () => {
    expect(canonicalNumber('1200.5')).toBe('12005e-1')
    expect(canonicalNumber('1.2E+3')).toBe('12e2')
    expect(canonicalNumber('-0.00')).toBe('0')
  })
})

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : Object.is(member, -0)
        ? 0
        : member,
  )
}
