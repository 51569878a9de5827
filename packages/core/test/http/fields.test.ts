import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { type FieldTarget, fieldWriters } from '../../src/http/fields.ts'
import { writeRetryAfter } from '../../src/http/retry-after.ts'
import {
  ConfigurationError,
  type Decision,
  fixedWindow,
  type HeaderFormat,
  leakyBucket,
  type Policy,
  tokenBucket,
} from '../../src/index.ts'
import { decisionOf } from './decision.ts'

const minute = fixedWindow({ name: 'minute', limit: 100, windowMs: 60_000 })
const daily = fixedWindow({ name: 'daily', limit: 1000, windowMs: 86_400_000 })

describe('the fields of draft-11', () => {
  it('R20: say quota and window of every policy, what is left and when more comes', () => {
    const response = answer(
      decisionOf(
        [minute, daily],
        [
          { remaining: 50, nextMs: 29_001 },
          { remaining: 900, nextMs: 1 },
        ],
      ),
      [minute, daily],
    )
    expect(response.getHeader('RateLimit-Policy')).toBe(
      '"minute";q=100;w=60, "daily";q=1000;w=86400',
    )
    expect(response.getHeader('RateLimit')).toBe('"minute";r=50;t=30, "daily";r=900;t=1')
  })

  it('R20: name no time after which more comes where none ever will', () => {
    const none = fixedWindow({ name: 'none', limit: 0, windowMs: 60_000 })
    const response = answer(decisionOf([none], [{ remaining: 0, nextMs: 0 }]), [none])
    expect(response.getHeader('RateLimit')).toBe('"none";r=0')
  })

  it('R20: parse strictly, whatever the policies and numbers are', () => {
    fc.assert(
      fc.property(
        fc.array(anyPolicy, { minLength: 1, maxLength: 4 }),
        anyState,
        (policies, state) => {
          const response = answer(
            decisionOf(
              policies,
              policies.map(() => state),
            ),
            policies,
          )
          const quotas = items(response, 'RateLimit-Policy')
          const limits = items(response, 'RateLimit')
          expect(quotas.map(([name]) => name)).toEqual(policies.map((policy) => policy.name))
          expect(limits.map(([name]) => name)).toEqual(policies.map((policy) => policy.name))
          for (const [, parameters] of quotas) {
            expect(parameters.get('q')).toBeGreaterThanOrEqual(0)
            expect(parameters.get('w')).toBeGreaterThanOrEqual(1)
          }
          for (const [, parameters] of limits)
            expect(parameters.get('r')).toBe(Math.min(state.remaining, 999_999_999_999_999))
        },
      ),
    )
  })

  it('R20: a name that no structured String can carry is refused at construction', () => {
    for (const name of ['', 'größe', 'two\nlines', 'nul\0', '\x7f', 'x'.repeat(101)])
      expect(() => fixedWindow({ name, limit: 1, windowMs: 1 }), name).toThrow(ConfigurationError)
  })

  it('R20: the window of a bucket is the time it takes to fill or drain, rounded up to seconds', () => {
    const fill = tokenBucket({ name: 'fill', capacity: 20, refill: 3, refillMs: 1000 })
    const drain = leakyBucket({ name: 'drain', capacity: 1, drain: 1, drainMs: 1 })
    const response = answer(decisionOf([fill, drain]), [fill, drain])
    expect(response.getHeader('RateLimit-Policy')).toBe('"fill";q=20;w=7, "drain";q=1;w=1')
  })

  it('R20: the effective window is never later than Retry-After', () => {
    const refused = { allowed: false, remaining: 0, retryAfterMs: 1500, nextMs: 1500 }
    const decision = decisionOf([minute, daily], [refused, { remaining: 3, nextMs: 80_000_000 }])
    const response = answer(decision, [minute, daily])
    expect(response.getHeader('RateLimit')).toBe('"minute";r=0;t=2, "daily";r=3;t=2')
    expect(response.getHeader('Retry-After')).toBe('2')
  })

  it('R3: a cost that can never fit gets no Retry-After, a policy that never refills no effective window', () => {
    const never = { allowed: false, remaining: 0, retryAfterMs: Infinity, nextMs: Infinity }
    const response = answer(decisionOf([minute], [never]), [minute])
    expect(response.getHeader('RateLimit')).toBe('"minute";r=0')
    expect(response.hasHeader('Retry-After')).toBe(false)
  })

  it('tell the limits that decided, when degradation decided by others', () => {
    const half = fixedWindow({ name: 'minute', limit: 50, windowMs: 60_000 })
    const response = answer(decisionOf([half], [], { source: 'local' }), [minute])
    expect(response.getHeader('RateLimit-Policy')).toBe('"minute";q=50;w=60')
  })

  it.each(['open', 'closed'] as const)(
    'claim no remaining quota when the store failed (%s)',
    (source) => {
      const response = answer(decisionOf([minute], [], { source }), [minute])
      expect(response.getHeader('RateLimit-Policy')).toBe('"minute";q=100;w=60')
      expect(response.hasHeader('RateLimit')).toBe(false)
    },
  )

  it('R21: append to the lists that are already there, in either form', () => {
    const response = emptyResponse()
    response.setHeader('RateLimit-Policy', ['"app";q=1', '"proxy";q=2'])
    response.setHeader('RateLimit', '"app";r=1')
    write(response, 'draft-11', decisionOf([minute]), [minute])
    const names = (field: string) => items(response, field).map(([name]) => name)
    expect(names('RateLimit-Policy')).toEqual(['app', 'proxy', 'minute'])
    expect(names('RateLimit')).toEqual(['app', 'minute'])
  })
})

describe('Retry-After', () => {
  it.each([
    [0, '1'],
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [315_619_200_000, '315619200'],
  ])('R4: %d ms are %s s: rounded up, at least 1', (retryAfterMs, seconds) => {
    expect(retryAfter(emptyResponse(), retryAfterMs)).toBe(seconds)
  })

  it.each([
    ['120', 5000, '120'],
    ['120', 121_000, '121'],
    [httpDate(600_000), 5000, httpDate(600_000)],
    [httpDate(1000), 600_000, '600'],
  ])('R21: of %s and %d ms the larger stays', (earlier, retryAfterMs, expected) => {
    const response = emptyResponse()
    response.setHeader('Retry-After', earlier)
    expect(retryAfter(response, retryAfterMs)).toBe(expected)
  })

  it('R30: a closed store is asked again after a second, even if no wait is known', () => {
    const response = emptyResponse()
    const decision = decisionOf([minute], [{ allowed: false }])
    writeRetryAfter(response, { ...decision, source: 'closed', retryAfterMs: Infinity })
    expect(response.getHeader('Retry-After')).toBe('1')
  })
})

describe('the legacy fields', () => {
  const decision = decisionOf([minute], [{ remaining: 7, resetMs: 30_001 }])

  it('tell the reset as Unix seconds', () => {
    const response = emptyResponse()
    const earliest = Math.ceil((Date.now() + 30_001) / 1000)
    write(response, 'legacy', decision, [minute])
    const latest = Math.ceil((Date.now() + 30_001) / 1000)
    expect(response.getHeader('X-RateLimit-Limit')).toBe('100')
    expect(response.getHeader('X-RateLimit-Remaining')).toBe('7')
    expect(Number(response.getHeader('X-RateLimit-Reset'))).toBeGreaterThanOrEqual(earliest)
    expect(Number(response.getHeader('X-RateLimit-Reset'))).toBeLessThanOrEqual(latest)
  })

  it('or as the seconds left', () => {
    const response = emptyResponse()
    write(response, 'legacy-seconds-left', decision, [minute])
    expect(response.getHeader('X-RateLimit-Reset')).toBe('31')
  })

  it('tell of several limiters the one nearest to its limit', () => {
    const response = emptyResponse()
    write(response, 'legacy', decisionOf([daily], [{ remaining: 900 }]), [daily])
    write(response, 'legacy', decision, [minute])
    write(response, 'legacy', decisionOf([daily], [{ remaining: 800 }]), [daily])
    expect(response.getHeader('X-RateLimit-Limit')).toBe('100')
    expect(response.getHeader('X-RateLimit-Remaining')).toBe('7')
  })

  it('claim no remaining quota when the store failed', () => {
    const response = emptyResponse()
    write(response, 'legacy', { ...decision, source: 'open' }, [minute])
    expect(response.getHeaderNames()).toEqual(['x-ratelimit-limit'])
  })
})

const anyPolicy = fc
  .record({
    name: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 100 }),
    limit: fc.integer({ min: 0, max: 1_000_000_000 }),
    windowMs: fc.integer({ min: 1, max: 315_619_200_000 }),
    slow: fc.boolean(),
  })
  .map(({ name, limit, windowMs, slow }) =>
    slow
      ? tokenBucket({ name, capacity: limit, refill: 1, refillMs: windowMs })
      : fixedWindow({ name, limit, windowMs }),
  )

const anyState = fc.record({
  remaining: fc.oneof(fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER)),
  nextMs: fc.oneof(fc.nat(), fc.constantFrom(Infinity, Number.MAX_VALUE, 0.1)),
})

function emptyResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()))
}

function write(
  target: FieldTarget,
  format: HeaderFormat,
  decision: Decision,
  policies: readonly Policy[],
): void {
  fieldWriters[format](target, decision, policies)
}

function answer(decision: Decision, policies: readonly Policy[]): ServerResponse {
  const response = emptyResponse()
  write(response, 'draft-11', decision, policies)
  if (!decision.allowed) writeRetryAfter(response, decision)
  return response
}

function items(response: ServerResponse, field: string) {
  return parseList(String(response.getHeader(field)))
}

function retryAfter(response: ServerResponse, retryAfterMs: number): unknown {
  writeRetryAfter(response, decisionOf([minute], [{ allowed: false, retryAfterMs }]))
  return response.getHeader('Retry-After')
}

function httpDate(fromNowMs: number): string {
  return new Date(Date.now() + fromNowMs).toUTCString()
}
