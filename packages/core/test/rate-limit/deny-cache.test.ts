import { describe, expect, it } from 'vitest'
import { DenyCache } from '../../src/rate-limit/deny-cache.ts'
import type { Standing } from '../../src/rate-limit/store.ts'

describe('R13: the deny cache', () => {
  it('is bounded: of endless subjects it knows the last ten thousand', () => {
    const cache = new DenyCache(60_000)
    for (let index = 0; index < 30_000; index++) remember(cache, `subject ${index}`)
    const known = Array.from({ length: 30_000 }, (_, index) => cache.get(`subject ${index}`, 1))
    expect(known.filter(Boolean)).toHaveLength(10_000)
    expect(known.findIndex(Boolean)).toBe(20_000)
  })

  it('is bounded: of endless costs of one subject it knows a few', () => {
    const cache = new DenyCache(60_000)
    for (let cost = 1; cost <= 1000; cost++) remember(cache, 'a', cost)
    const known = Array.from({ length: 1000 }, (_, index) => cache.get('a', index + 1))
    expect(known.filter(Boolean).length).toBeGreaterThanOrEqual(1)
    expect(known.filter(Boolean).length).toBeLessThanOrEqual(16)
    expect(cache.get('a', 1000)).toBeDefined()
  })

  it('does not keep an answer that is older than a clear', () => {
    const cache = new DenyCache(60_000)
    const mark = cache.mark('a')
    cache.clear('a')
    cache.set('a', 1, [refusal], mark)
    expect(cache.get('a', 1)).toBeUndefined()
    cache.set('a', 1, [refusal], cache.mark('a'))
    expect(cache.get('a', 1)).toBeDefined()
  })

  it('keeps nothing of a cost that never fits from a smaller one', () => {
    const cache = new DenyCache(60_000)
    cache.set('a', 11, [{ ...refusal, retryAfterMs: Infinity }], cache.mark('a'))
    expect(cache.get('a', 11)?.[0]?.retryAfterMs).toBe(Infinity)
    expect(cache.get('a', 10)).toBeUndefined()
    expect(cache.get('a', 12)).toBeUndefined()
  })

  it('keeps the longest of several refusals, since all must be over', () => {
    const cache = new DenyCache(60_000)
    cache.set('a', 1, [{ ...refusal, retryAfterMs: 0 }, refusal], cache.mark('a'))
    expect(cache.get('a', 1)?.map(({ retryAfterMs }) => retryAfterMs > 0)).toEqual([false, true])
  })

  it('keeps nothing when it is turned off', () => {
    const cache = new DenyCache(0)
    remember(cache, 'a')
    expect(cache.get('a', 1)).toBeUndefined()
  })
})

const refusal: Standing = {
  allowed: false,
  remaining: 0,
  retryAfterMs: 50_000,
  resetMs: 50_000,
  nextMs: 50_000,
  delayMs: 0,
}

function remember(cache: DenyCache, subject: string, cost = 1): void {
  cache.set(subject, cost, [refusal], cache.mark(subject))
}
