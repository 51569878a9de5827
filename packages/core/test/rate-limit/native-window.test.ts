import { describe, expect, it } from 'vitest'
import { decodeIncrex } from '../../src/rate-limit/native-window.ts'

describe('R14: a reply of INCREX', () => {
  it('says what is counted now, and whether the call was', () => {
    expect(decodeIncrex([7, 2])).toEqual({ value: 7, applied: true })
    expect(decodeIncrex([7, 0])).toEqual({ value: 7, applied: false })
    expect(decodeIncrex([0, 0])).toEqual({ value: 0, applied: false })
  })

  it('of any other shape says nothing', () => {
    const others = [
      7,
      '7',
      null,
      undefined,
      true,
      'OK',
      [],
      [7],
      [7, 2, 0],
      ['7', '2'],
      [7, '2'],
      [7, null],
      [7, true],
      [7.5, 1],
      [Number.NaN, 1],
      [2 ** 60, 1],
      [7n, 1n],
      { value: 7, applied: 2 },
      new Map([[0, 7]]),
      new Error('ERR'),
    ]
    for (const reply of others) expect(decodeIncrex(reply), String(reply)).toBeUndefined()
  })
})
