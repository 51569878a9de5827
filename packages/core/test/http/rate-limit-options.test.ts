import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type RateLimitOptions, resolveOptions } from '../../src/http/rate-limit-options.ts'
import {
  ConfigurationError,
  createRateLimiter,
  fixedWindow,
  memoryStore,
  type RateLimiter,
} from '../../src/index.ts'

const policy = fixedWindow({ limit: 1, windowMs: 1000 })
const limiter = createRateLimiter({ policy })

describe('the options of rateLimit()', () => {
  it('may all be left out: 100 a minute for each client, in draft-11 fields, enforced', () => {
    expect(resolveOptions({})).toMatchObject({
      policy: { algorithm: 'sliding-window', limit: 100, windowMs: 60_000 },
      cost: 1,
      ipv6Prefix: 56,
      enforce: true,
      formats: ['draft-11'],
    })
  })

  it.each([
    ['policy', null],
    ['policy', 100],
    ['policy', []],
    ['policy', { limit: 1, windowMs: 1000 }],
    ['policy', [policy, policy]],
    ['limiter', { consume: () => {} }],
    ['name', ''],
    ['key', 'ip'],
    ['ipv6Prefix', 0],
    ['ipv6Prefix', 129],
    ['ipv6Prefix', 56.5],
    ['cost', 0],
    ['cost', Number.POSITIVE_INFINITY],
    ['cost', '1'],
    ['skip', true],
    ['refund', true],
    ['store', {}],
    ['timeoutMs', 0],
    ['denyCacheMs', -1],
    ['onStoreFailure', 'ajar'],
    ['instances', 0],
    ['enforce', 'no'],
    ['headers', true],
    ['headers', 'draft-7'],
    ['headers', []],
    ['headers', ['legacy', 'legacy-seconds-left']],
    ['onLimited', 429],
  ])('refuse a `%s` of %j, and say which option it is', (option, value) => {
    expect(refusal({ [option]: value })).toMatchObject({ code: 'configuration', option })
  })

  it('refuse what they do not know, and suggest what was meant', () => {
    expect(refusal({ onLimit: () => {} }).message).toMatch(/`onLimit` .*did you mean `onLimited`/)
  })

  it('say what is wrong when rateLimit was mounted without being called', () => {
    const request = new IncomingMessage(new Socket())
    expect(refusal(request).message).toContain('write app.use(rateLimit())')
    expect(refusal({ request, response: {} }).message).toContain('write app.use(rateLimit())')
  })

  it('say where a policy goes that was given alone', () => {
    expect(refusal({ ...policy }).message).toContain('a policy goes into `policy`')
  })

  it.each([
    { policy },
    { name: 'a' },
    { store: memoryStore() },
    { timeoutMs: 100 },
    { denyCacheMs: 0 },
    { onStoreFailure: 'open' },
    { instances: 2 },
  ])('refuse to describe a limiter that is given ready: %o', (also) => {
    expect(refusal({ limiter, ...also })).toMatchObject({ option: Object.keys(also)[0] })
  })

  it('refuse a wrapper of a limiter that does not say its policies', () => {
    expect(refusal({ limiter: methodsOf(limiter) })).toMatchObject({ option: 'limiter' })
  })

  it('R20: refuse a ready limiter whose policies have names that no field can carry', () => {
    const foreign: RateLimiter = {
      ...methodsOf(limiter),
      name: 'foreign',
      policies: [{ ...policy, name: 'größe' }],
    }
    expect(refusal({ limiter: foreign })).toMatchObject({ option: 'limiter', value: 'größe' })
  })
})

function refusal(options: object): ConfigurationError {
  try {
    resolveOptions(options as RateLimitOptions<[]>)
  } catch (error) {
    if (error instanceof ConfigurationError) return error
    throw error
  }
  return expect.unreachable('accepted')
}

function methodsOf({ consume, peek, refund, reset }: RateLimiter) {
  return { consume, peek, refund, reset }
}
