import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  type IdempotencyGateOptions,
  resolveIdempotencyOptions,
} from '../../src/http/idempotency-options.ts'
import { memoryStore } from '../../src/index.ts'

const resolve = (options: unknown) =>
  resolveIdempotencyOptions(options as IdempotencyGateOptions<[]>)

describe('options of idempotency()', () => {
  it.each([
    ['methods', 'POST'],
    ['methods', ['PO ST']],
    ['header', 'Idempotency Key'],
    ['required', 'yes'],
    ['scope', 'tenant'],
    ['fingerprint', 'body'],
    ['leaseMs', 1.5],
    ['leaseMs', 99],
    ['maxRunMs', 0],
    ['resultTtlMs', Number.POSITIVE_INFINITY],
    ['onConcurrent', 'wait'],
    ['onConcurrent', { waitMs: -1 }],
    ['onConcurrent', { waitMs: 10, other: 1 }],
    ['onUnknown', 'retry'],
    ['onServerError', 'keep'],
    ['maxBodyBytes', -1],
    ['store', {}],
    ['timeoutMs', Number.NaN],
    ['onStoreFailure', 'local'],
    ['authorizeReplay', true],
    ['replaySetCookie', 1],
    ['documentation', 'not a url'],
    ['documentation', 'https://a.example/>; rel="x"'],
  ])('refuses %s: %j', (option, value) => {
    expect(() => resolve({ [option]: value })).toThrowError(
      expect.objectContaining({ code: 'configuration', option }),
    )
  })

  it('asks whether another name was meant', () => {
    expect(() => resolve({ lease: 1000 })).toThrow('did you mean `leaseMs`?')
  })

  it('says what is wrong when idempotency was mounted without being called', () => {
    const request = new IncomingMessage(new Socket())
    expect(() => resolve(request)).toThrow('write app.use(idempotency())')
    expect(() => resolve({ request, response: {} })).toThrow('write app.use(idempotency())')
  })

  it('has defaults', () => {
    const { protects, header, waitMs, maxBodyBytes } = resolve({ store: memoryStore() })
    expect([[...protects], header, waitMs, maxBodyBytes]).toEqual([
      ['POST', 'PATCH'],
      'Idempotency-Key',
      0,
      1_048_576,
    ])
  })
})
