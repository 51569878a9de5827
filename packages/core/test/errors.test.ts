import { describe, expect, it } from 'vitest'
import { type AnySluiceError, ConfigurationError, StoreUnavailableError } from '../src/index.ts'
import { StoreGuard } from '../src/resilience/guard.ts'

describe('an error of Sluice', () => {
  const cause = new Error('socket closed')
  const configuration = new ConfigurationError('rateLimit', 'cost', 0, 'an integer of at least 1')
  const unavailable = new StoreUnavailableError('failure', 'it reported an error', cause)

  it('is an Error with a name, a literal code and structured fields', () => {
    expect(configuration).toBeInstanceOf(Error)
    expect(configuration).toMatchObject({
      name: 'ConfigurationError',
      code: 'configuration',
      option: 'cost',
      value: 0,
      expected: 'an integer of at least 1',
      message: 'rateLimit: `cost` must be an integer of at least 1, but got 0',
    })
    expect(unavailable).toMatchObject({
      name: 'StoreUnavailableError',
      code: 'store-unavailable',
      reason: 'failure',
      message: 'The store is unavailable: it reported an error',
    })
  })

  it('says which option the time was, and what the client or the server said', async () => {
    const guard = new StoreGuard(20, undefined)
    const hangs = guard.call('lock.acquire', () => new Promise(() => {}))
    await expect(hangs).rejects.toMatchObject({
      reason: 'deadline',
      message: 'The store is unavailable: no answer within the 20 ms of `timeoutMs`',
    })
    const fails = guard.call('lock.acquire', () => Promise.reject(cause))
    await expect(fails).rejects.toMatchObject({
      cause,
      message: 'The store is unavailable: it reported an error: socket closed',
    })
  })

  it('carries its cause, where it has one', () => {
    expect(unavailable.cause).toBe(cause)
    expect('cause' in new StoreUnavailableError('deadline', 'no answer within 500 ms')).toBe(false)
  })

  it('narrows by its code', () => {
    const told = (error: AnySluiceError): string => {
      switch (error.code) {
        case 'configuration':
          return error.option
        case 'store-unavailable':
          return error.reason
        case 'lease-lost':
        case 'lock-timeout':
        case 'idempotency-body-not-captured':
        case 'release-too-late':
        case 'queue-full':
        case 'payload-too-large':
        case 'worker-closed':
        case 'stale-fence':
        case 'transaction-not-committed':
          return error.message
      }
    }
    expect([configuration, unavailable].map(told)).toEqual(['cost', 'failure'])
  })
})
