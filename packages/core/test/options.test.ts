import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../src/index.ts'
import {
  boolean,
  callback,
  checkOptions,
  duration,
  either,
  integer,
  oneOf,
  required,
  withDefaults,
} from '../src/options.ts'

const rules = {
  leaseMs: duration(10),
  mode: either(oneOf('open', 'closed', 7), callback),
  retries: required(integer(0, 5)),
  strict: boolean,
}

describe('options', () => {
  it('are taken when every one is known and as its rule says', () => {
    const right = [
      { retries: 0 },
      { retries: 5, leaseMs: 10, mode: 'open', strict: false },
      { retries: 1, mode: 7 },
      { retries: 1, mode: () => {} },
      { retries: 1, leaseMs: undefined, mode: undefined },
    ]
    for (const options of right) expect(() => checkOptions('make', options, rules)).not.toThrow()
  })

  it.each([
    ['a number out of range', { retries: 6 }, 'retries', 'an integer from 0 to 5, but got 6'],
    ['a fraction', { retries: 0.5 }, 'retries', 'an integer from 0 to 5, but got 0.5'],
    ['NaN', { retries: Number.NaN }, 'retries', 'an integer from 0 to 5, but got NaN'],
    ['Infinity', { retries: Infinity }, 'retries', 'but got Infinity'],
    ['a negative', { retries: -1 }, 'retries', 'but got -1'],
    ['a number in a string', { retries: '3' }, 'retries', 'but got "3"'],
    ['a bigint', { retries: 3n }, 'retries', 'but got 3n'],
    ['null', { retries: null }, 'retries', 'but got null'],
    ['a required option left out', {}, 'retries', 'but got undefined'],
    ['a duration too short', { retries: 1, leaseMs: 9 }, 'leaseMs', 'milliseconds, but got 9'],
    [
      'a wrong literal',
      { retries: 1, mode: 'shut' },
      'mode',
      "'open' or 'closed' or 7 or a function",
    ],
    [
      'a word for a boolean',
      { retries: 1, strict: 'yes' },
      'strict',
      'true or false, but got "yes"',
    ],
    ['a function', { retries: () => {} }, 'retries', 'but got a function'],
    ['an array', { retries: [1, 2] }, 'retries', 'but got an array of 2'],
    ['an object', { retries: { a: 1 } }, 'retries', 'but got an object (a)'],
  ])('are refused for %s, with name, value and expectation', (_, options, option, message) => {
    const check = () => checkOptions('make', options, rules)
    expect(check).toThrow(ConfigurationError)
    expect(check).toThrow(expect.objectContaining({ option, value: Reflect.get(options, option) }))
    expect(check).toThrow(`make: \`${option}\` must be`)
    expect(check).toThrow(message)
  })

  it.each([
    ['lease', 'leaseMs'],
    ['leasems', 'leaseMs'],
    ['LeaseMS', 'leaseMs'],
    ['retrys', 'retries'],
    ['retires', 'retries'],
    ['Mode', 'mode'],
    ['strickt', 'strict'],
  ])('named %s are taken for a slip of %s', (slip, meant) => {
    const check = () => checkOptions('make', { retries: 1, [slip]: 1 }, rules)
    expect(check).toThrow(`make: \`${slip}\` must be absent`)
    expect(check).toThrow(`did you mean \`${meant}\`?`)
  })

  it('of another name altogether are told what there is', () => {
    for (const name of ['colour', 'x', '__proto__', 'constructor', 'toString']) {
      const options: unknown = JSON.parse(`{ "retries": 1, "${name}": 1 }`)
      const check = () => checkOptions('make', options, rules)
      expect(check).toThrow('known are leaseMs, mode, retries, strict')
    }
  })

  it('that are no object are refused', () => {
    for (const options of [undefined, null, 5, 'open', [], () => {}])
      expect(() => checkOptions('make', options, rules)).toThrow('`options` must be an object')
  })

  it('do not print a long value whole', () => {
    const secret = 'x'.repeat(1000)
    expect(() => checkOptions('make', { retries: secret }, rules)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{1,200}$/) }),
    )
  })

  it('given as undefined count as left out', () => {
    const defaults = { a: 1, b: 2 }
    expect(withDefaults<{ a?: number; b?: number }, typeof defaults>({ a: 5 }, defaults)).toEqual({
      a: 5,
      b: 2,
    })
    const undefinedGiven: object = { a: undefined }
    expect(withDefaults(undefinedGiven, defaults)).toEqual(defaults)
    expect(defaults).toEqual({ a: 1, b: 2 })
  })

  it('are read once, wherever the object has them from, and are a copy', () => {
    let reads = 0
    class Settings {
      get retries() {
        return ++reads
      }
      readonly strict = true
      readonly leaseMs = undefined
    }
    const settings = new Settings()
    const checked = checkOptions('make', settings, rules)
    expect(Object.entries(checked)).toEqual([
      ['retries', 1],
      ['strict', true],
    ])
    expect(checkOptions('make', Object.freeze({ retries: 1 }), rules)).toEqual({ retries: 1 })
    expect(checkOptions('make', new Proxy({ retries: 1 }, {}), rules)).toEqual({ retries: 1 })
  })

  it('of ten years are the longest', () => {
    const tenYearsMs = 3_653 * 86_400_000
    expect(duration(1).accepts(tenYearsMs)).toBe(true)
    expect(duration(1).accepts(tenYearsMs + 1)).toBe(false)
  })
})
