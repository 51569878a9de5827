import { describe, expect, it, onTestFinished } from 'vitest'
import {
  ConfigurationError,
  createRateLimiter,
  fixedWindow,
  memoryStore,
  type RateLimiterOptions,
} from '../../src/index.ts'

const policy = fixedWindow({ limit: 2, windowMs: 60_000 })

describe('a limiter', () => {
  it('R11: without a store has one of its own', async () => {
    const [first, second] = [createRateLimiter({ policy }), createRateLimiter({ policy })]
    for (let call = 0; call < 2; call++) await first.consume('a')
    expect(await first.consume('a')).toMatchObject({ allowed: false })
    expect(await second.consume('a')).toMatchObject({ allowed: true })
  })

  it('R11: shares the quota of its name on one store, and of no other', async () => {
    const store = memoryStore()
    const [one, same, other] = ['one', 'one', 'other'].map((name) =>
      createRateLimiter({ name, policy, store }),
    )
    for (let call = 0; call < 2; call++) await one?.consume('a')
    expect(await same?.consume('a')).toMatchObject({ allowed: false })
    expect(await other?.consume('a')).toMatchObject({ allowed: true })
  })

  it('R11: keeps the policies it was given, whatever becomes of the array they came in', async () => {
    const policies = [policy]
    const limiter = createRateLimiter({ policy: policies })
    await limiter.consume('a')
    policies.push(fixedWindow({ name: 'later', limit: 1, windowMs: 1000 }))
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, policies: [{ limit: 2 }] })
    expect(limiter.policies).toEqual([policy])
  })

  it('says what it is called and what it counts', () => {
    expect(createRateLimiter({ policy })).toMatchObject({ name: 'default', policies: [policy] })
    expect(createRateLimiter({ policy, name: 'mail' }).name).toBe('mail')
  })

  it('R3: rejects a wrong cost or key before anything is spent', async () => {
    const limiter = createRateLimiter({ policy })
    for (const cost of [0, -1, 0.5, Number.NaN, Infinity, '1', null] as number[])
      await expect(limiter.consume('a', { cost })).rejects.toMatchObject({ option: 'cost' })
    for (const key of ['', 5, null, undefined] as string[])
      await expect(limiter.consume(key)).rejects.toMatchObject({ option: 'key' })
    expect(await limiter.peek('a')).toMatchObject({ remaining: 2 })
  })

  it('spends nothing for a caller who has left already', async () => {
    const limiter = createRateLimiter({ policy })
    const signal = AbortSignal.abort(new Error('left'))
    await expect(limiter.consume('a', { signal })).rejects.toThrow('left')
    expect(await limiter.peek('a')).toMatchObject({ remaining: 2 })
  })

  it.each<[keyof RateLimiterOptions, readonly unknown[]]>([
    ['name', ['', 'x'.repeat(201), 5, null]],
    ['store', [null, 5, {}, 'redis']],
    ['timeoutMs', [0, -1, 1.5, 60_001, '500', null]],
    ['denyCacheMs', [-1, 1.5, 60_001, '500', null]],
    ['onStoreFailure', ['closed ', true, null, {}, { consume() {} }]],
    ['instances', [0, -1, 1.5, 100_001, null]],
  ])('refuses a wrong %s at construction', (option, values) => {
    for (const value of values) {
      const make = () => createRateLimiter({ policy, [option]: value })
      expect(make, String(value)).toThrow(ConfigurationError)
      expect(make, String(value)).toThrow(`createRateLimiter: \`${option}\` must be`)
    }
  })

  it('suggests the option that was meant', () => {
    const options = { policy, timeout: 5 } as RateLimiterOptions
    expect(() => createRateLimiter(options)).toThrow('did you mean `timeoutMs`?')
  })

  it('takes an option given as undefined for one left out', async () => {
    const options = { name: undefined, store: undefined, timeoutMs: undefined }
    const limiter = createRateLimiter({ policy, ...(options as object) })
    expect(limiter.name).toBe('default')
    expect(await limiter.consume('a')).toMatchObject({ allowed: true })
  })
})

describe('R11: limiters without a name on one store', () => {
  it('give one warning, at the second of them', async () => {
    const store = memoryStore()
    expect(await warnings(() => createRateLimiter({ policy, store }))).toEqual([])
    expect(await warnings(() => createRateLimiter({ policy, store }))).toEqual([
      expect.objectContaining({ name: 'SluiceWarning', code: 'SLUICE_UNNAMED_LIMITERS' }),
    ])
    expect(await warnings(() => createRateLimiter({ policy, store }))).toEqual([])
  })

  it('give none where each has a store of its own, or a name', async () => {
    const store = memoryStore()
    const quiet = await warnings(() => {
      for (let index = 0; index < 3; index++) {
        createRateLimiter({ policy })
        createRateLimiter({ policy, store: memoryStore() })
        createRateLimiter({ policy, store, name: 'shared' })
      }
      createRateLimiter({ policy, store })
    })
    expect(quiet).toEqual([])
  })
})

/** The process warnings that come of something. */
async function warnings(act: () => void): Promise<readonly Error[]> {
  const seen: Error[] = []
  const listener = (warning: Error) => void seen.push(warning)
  process.on('warning', listener)
  onTestFinished(() => void process.off('warning', listener))
  act()
  await new Promise(setImmediate) // warnings are emitted in the next turn
  process.off('warning', listener)
  return seen
}
