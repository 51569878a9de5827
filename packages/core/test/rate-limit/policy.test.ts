import { describe, expect, it } from 'vitest'
import {
  ConfigurationError,
  createRateLimiter,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { share } from '../../src/rate-limit/policy.ts'

const TEN_YEARS_MS = 3_653 * 86_400_000
const windows = { fixedWindow, slidingWindow, slidingLog }
const buckets = {
  tokenBucket: (capacity: number, amount: number, ms: number) =>
    tokenBucket({ capacity, refill: amount, refillMs: ms }),
  leakyBucket: (capacity: number, amount: number, ms: number) =>
    leakyBucket({ capacity, drain: amount, drainMs: ms }),
}
const noIntegers = [-1, 1.5, Number.NaN, Infinity, -Infinity, '5', null, undefined, 5n, {}, [5]]

describe.each(Object.entries(windows))('%s', (name, make) => {
  const max = name === 'slidingLog' ? 100_000 : 1_000_000_000

  it('R7: takes windows from 1 ms to ten years', () => {
    for (const windowMs of [1, 2, 2 ** 31, TEN_YEARS_MS])
      expect(make({ limit: 1, windowMs })).toMatchObject({ windowMs })
    for (const windowMs of [0, TEN_YEARS_MS + 1, ...noIntegers])
      expectError(() => make({ limit: 1, windowMs: windowMs as number }), name, 'windowMs')
  })

  it('R7: takes limits from 0 to its largest', () => {
    for (const limit of [0, 1, max]) expect(make({ limit, windowMs: 1 })).toMatchObject({ limit })
    for (const limit of [max + 1, ...noIntegers])
      expectError(() => make({ limit: limit as number, windowMs: 1 }), name, 'limit')
  })

  it('has the name of its algorithm, or one that a structured String can carry', () => {
    expect(make({ limit: 1, windowMs: 1 }).name).toBe(make({ limit: 1, windowMs: 1 }).algorithm)
    for (const policy of ['a', ' ', '"', '\\', '~', 'x'.repeat(100)])
      expect(make({ limit: 1, windowMs: 1, name: policy }).name).toBe(policy)
    for (const policy of ['', 'é', '\n', '\x7f', '\0', '\u{1f600}', 'x'.repeat(101), 5, null])
      expectError(() => make({ limit: 1, windowMs: 1, name: policy as string }), name, 'name')
  })

  it('suggests the option that was meant', () => {
    const options = { limit: 1, window: 1000 } as never
    expect(() => make(options)).toThrow('did you mean `windowMs`?')
    expect(() => make({ limit: 1, windowMs: 1, burst: 5 } as never)).toThrow(
      'known are limit, windowMs, name',
    )
    expect(() => make({ max: 5, windowMs: 1 } as never)).toThrow('it is called `limit`')
    for (const wrong of [undefined, null, 5, 'x', []])
      expectError(() => make(wrong as never), name, 'options')
  })
})

describe.each(Object.entries(buckets))('%s', (name, make) => {
  const [amountName, msName] =
    name === 'tokenBucket' ? ['refill', 'refillMs'] : ['drain', 'drainMs']

  it('R7: takes capacities, amounts and durations of every size, and no others', () => {
    for (const capacity of [0, 1, 1_000_000_000]) expect(make(capacity, 1, 1).limit).toBe(capacity)
    for (const amount of [1, 1_000_000_000]) expect(make(1, amount, TEN_YEARS_MS).limit).toBe(1)
    for (const capacity of [1_000_000_001, ...noIntegers])
      expectError(() => make(capacity as number, 1, 1), name, 'capacity')
    for (const amount of [0, 1_000_000_001, ...noIntegers])
      expectError(() => make(1, amount as number, 1), name, amountName)
    for (const ms of [0, TEN_YEARS_MS + 1, ...noIntegers])
      expectError(() => make(1, 1, ms as number), name, msName)
  })

  it('has its rate in lowest terms, and the time it takes to fill, rounded up', () => {
    expect(make(20, 5, 1000)).toMatchObject({ rate: { amount: 1, periodMs: 200 }, windowMs: 4000 })
    expect(make(10, 3, 1000)).toMatchObject({ rate: { amount: 3, periodMs: 1000 }, windowMs: 3334 })
    expect(make(0, 3, 1000).windowMs).toBe(1)
  })
})

describe('the policies of a limiter', () => {
  const [a, b] = [fixedWindow({ limit: 1, windowMs: 1 }), fixedWindow({ limit: 9, windowMs: 9 })]

  it('R11: must differ in their names', () => {
    expect(() => createRateLimiter({ policy: [a, b] })).toThrow(ConfigurationError)
    expect(() => createRateLimiter({ policy: [a, b] })).toThrow('policies of different names')
    const named = fixedWindow({ limit: 9, windowMs: 9, name: 'b' })
    expect(createRateLimiter({ policy: [a, named] }).policies).toEqual([a, named])
    expect(() =>
      createRateLimiter({ policy: [a, slidingLog({ limit: 1, windowMs: 1, name: a.name })] }),
    ).toThrow('policies of different names')
  })

  it('must be there, and made by a policy function', () => {
    const wrong = [[], undefined, null, {}, 'fixedWindow', [a, undefined], { ...a }, [[a]]]
    for (const policy of wrong)
      expectError(
        () => createRateLimiter({ policy: policy as Policy }),
        'createRateLimiter',
        'policy',
      )
  })

  it('cannot be changed', () => {
    expect(Object.isFrozen(a)).toBe(true)
    expect(Object.isFrozen(a.rate)).toBe(true)
  })
})

describe('R32: the share of one process in a policy', () => {
  it('is the limit divided and rounded up, in the same window', () => {
    expect(share(fixedWindow({ limit: 10, windowMs: 60 }), 3)).toMatchObject({
      limit: 4,
      windowMs: 60,
      name: 'fixed-window',
    })
    expect(share(slidingLog({ limit: 2, windowMs: 60 }), 3)).toMatchObject({ limit: 1 })
    expect(share(slidingWindow({ limit: 0, windowMs: 60 }), 3)).toMatchObject({ limit: 0 })
  })

  it('is the capacity divided and rounded up, and the rate divided', () => {
    const bucket = tokenBucket({ capacity: 20, refill: 6, refillMs: 1000, name: 'burst' })
    expect(share(bucket, 3)).toMatchObject({
      algorithm: 'token-bucket',
      name: 'burst',
      limit: 7,
      rate: { amount: 1, periodMs: 500 },
    })
  })

  it('is all of it for the only process', () => {
    const policy = leakyBucket({ capacity: 20, drain: 6, drainMs: 1000 })
    expect(share(policy, 1)).toEqual(policy)
  })
})

function expectError(make: () => unknown, owner: string, option: string | undefined): void {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error).toMatchObject({ code: 'configuration', option })
    expect(String(error)).toMatch(
      new RegExp(`^ConfigurationError: ${owner}: \`${option}\` must be `),
    )
    return
  }
  expect.unreachable(`${owner} took a wrong ${option}`)
}
