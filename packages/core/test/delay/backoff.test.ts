import { describe, expect, test, vi } from 'vitest'
import { type Backoff, backoffOf } from '../../src/delay/backoff.ts'
import { ConfigurationError } from '../../src/index.ts'

const OWNER = 'createDelayQueue'

function longest(backoff: Backoff, attempt: number): number {
  vi.spyOn(Math, 'random').mockReturnValueOnce(1 - 2 ** -53)
  return backoffOf(OWNER, backoff)(attempt)
}

describe('a backoff', () => {
  test('D6: doubles from 1 s to 5 min by default', () => {
    const pauses = [1, 2, 3, 8, 9, 10, 1000, 1_000_000].map((attempt) => longest({}, attempt))
    expect(pauses).toEqual([1000, 2000, 4000, 128_000, 256_000, 300_000, 300_000, 300_000])
  })

  test('D6: doubles from `baseMs` to `maxMs`', () => {
    const backoff = { baseMs: 100, maxMs: 500 }
    expect([1, 2, 3, 4, 5].map((attempt) => longest(backoff, attempt))).toEqual([
      100, 200, 400, 500, 500,
    ])
    expect(longest({ baseMs: 600_000 }, 3)).toBe(600_000)
    for (const attempt of [5, 5000])
      expect(backoffOf(OWNER, { baseMs: 0, maxMs: 9 })(attempt)).toBe(0)
  })

  test('D6: has full jitter: anything from 0 on', () => {
    const pauses = Array.from({ length: 2000 }, () => backoffOf(OWNER, { baseMs: 9 })(1))
    expect([...new Set(pauses)].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('D6: is what a function says, in whole milliseconds', () => {
    const backoff = backoffOf(OWNER, (attempt) => attempt * 1.5)
    expect([1, 2, 3].map(backoff)).toEqual([2, 3, 5])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('wrong')
      },
    ], // prettier-ignore
    ['says NaN', () => Number.NaN],
    ['says less than nothing', () => -1],
    ['says never', () => Number.POSITIVE_INFINITY],
    ['says nothing', () => undefined as unknown as number],
  ])('D6: is the default one where a function %s', (_, wrong) => {
    expect(longest(wrong, 1)).toBe(1000)
  })

  test.each([
    [{ baseMs: -1 }, 'baseMs'],
    [{ maxMs: 1.5 }, 'maxMs'],
    [{ baseMs: 10, maxMs: 5 }, 'backoff.maxMs'],
    [{ base: 10 } as object, 'base'],
  ])('refuses %j', (options, option) => {
    expect(() => backoffOf(OWNER, options)).toThrow(ConfigurationError)
    expect(() => backoffOf(OWNER, options)).toThrow(expect.objectContaining({ option }))
  })
})
