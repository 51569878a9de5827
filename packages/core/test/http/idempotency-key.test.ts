import fc from 'fast-check'
import { parseItem, serializeItem } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { parseKey, readKey } from '../../src/http/idempotency-key.ts'

const printable = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
})

describe('parseKey', () => {
  it('I17: reads every String that a serialiser of structured fields writes', () => {
    fc.assert(
      fc.property(
        printable,
        fc.constantFrom('', ';a', ';a=1;b="x;\\"y"', '; c=?0', ';d=:YWJj:;e=tok'),
        (key, parameters) => {
          expect(parseKey(`${serializeItem(key)}${parameters}`)).toBe(key)
        },
      ),
    )
  })

  it('I17: takes what a parser of structured fields takes as a String or a Token, and no other Item', () => {
    const text = fc
      .array(
        fc.constantFrom(
          'a',
          'B',
          '1',
          '-',
          '.',
          '"',
          '\\',
          ' ',
          ';',
          '=',
          ':',
          '?',
          '@',
          '(',
          ')',
          ',',
          '%',
          '*',
        ),
        { maxLength: 8 },
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (field) => {
        const item = parsed(field)
        if (item === undefined) return
        const expected =
          typeof item === 'string' ? item : isToken(item) ? item.toString() : undefined
        expect(parseKey(field)).toBe(expected)
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['01ARZ3NDEKTSV4RRFFQ69G5FAV', '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['order/7:first', 'order/7:first'],
    ['a=b', undefined],
    ['a;B=1', undefined],
    ['"a"b', undefined],
    ['"a" ; b', undefined],
    ['%"a"', undefined],
  ])('I17: %s names %s', (field, key) => {
    expect(parseKey(field)).toBe(key)
  })

  it('I17: takes no longer for what is nearly a key', () => {
    const field = `"${'\\"'.repeat(4000)}`
    expect(parseKey(field)).toBeUndefined()
    expect(parseKey(`a${';a=1'.repeat(2000)};`)).toBeUndefined()
  })
})

describe('readKey', () => {
  it('finds the field whatever its case, and says what is wrong with it', () => {
    expect(readKey(['idempotency-KEY', 'k'], 'Idempotency-Key')).toEqual({ state: 'key', key: 'k' })
    expect(readKey(['Other', 'k'], 'Idempotency-Key')).toEqual({ state: 'absent' })
    for (const empty of ['""', '', ' '])
      expect(readKey(['X-Key', empty], 'X-Key')).toMatchObject({
        state: 'invalid',
        detail: 'X-Key must not be empty',
      })
  })
})

function parsed(field: string): unknown {
  try {
    return parseItem(field)[0]
  } catch {
    return undefined
  }
}

function isToken(value: unknown): value is { toString(): string } {
  return value?.constructor.name === 'Token'
}
