import { RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fromFlexible, type RateLimiter } from '../../src/index.ts'

/** That library reckons with `Date` and `setTimeout`. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 1_800_000_000_000 })
})

afterEach(() => {
  vi.useRealTimers()
})

describe('a decision of a limiter that fromFlexible() made', () => {
  it('R34: has the shape of all decisions, and the numbers of the library', async () => {
    const limiter = fromFlexible(new RateLimiterMemory({ points: 3, duration: 10 }))
    await limiter.consume('ann')
    vi.advanceTimersByTime(4000)
    const state = {
      allowed: true,
      limit: 3,
      remaining: 0,
      retryAfterMs: 0,
      resetMs: 6000,
    }
    expect(await limiter.consume('ann', { cost: 2 })).toEqual({
      ...state,
      policy: 'fixed-window',
      delayMs: 0,
      source: 'store',
      policies: [{ ...state, name: 'fixed-window', windowMs: 10_000, nextMs: 6000 }],
    })
  })

  it('R34: carries the name that was given', async () => {
    const memory = new RateLimiterMemory({ points: 3, duration: 10 })
    const limiter = fromFlexible(memory, { name: 'search' })
    expect(limiter.name).toBe('search')
    expect(limiter.policies.map((policy) => policy.name)).toEqual(['search'])
    expect((await limiter.consume('ann')).policy).toBe('search')
    expect(fromFlexible(memory).name).toBe('default')
  })

  it('R4, R34: names a wait that is true to the millisecond', async () => {
    const limiter = fromFlexible(new RateLimiterMemory({ points: 1, duration: 10 }))
    await limiter.consume('ann')
    vi.advanceTimersByTime(2500)
    const refused = await limiter.consume('ann')
    expect(refused).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 7500 })
    vi.advanceTimersByTime(refused.retryAfterMs - 1)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    vi.advanceTimersByTime(1)
    expect((await limiter.consume('ann')).allowed).toBe(true)
  })

  it('R34: never says that less than nothing remains, though refused calls are charged', async () => {
    const memory = new RateLimiterMemory({ points: 2, duration: 10 })
    const limiter = fromFlexible(memory)
    for (let call = 0; call < 5; call++) await limiter.consume('ann')
    expect(await memory.get('ann')).toMatchObject({ consumedPoints: 5 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
    await memory.reward('ann', 100)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 2, remaining: 2 })
  })

  it('R3, R34: says Infinity to a cost that can never fit', async () => {
    const limiter = fromFlexible(new RateLimiterMemory({ points: 2, duration: 10 }))
    expect(await limiter.peek('ann', { cost: 3 })).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    expect(await limiter.consume('ann', { cost: 3 })).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
      resetMs: 10_000,
    })
  })

  it.each([0, -5])('R7, R34: refuses everything, for ever, with %d points', async (points) => {
    const limiter = fromFlexible(new RateLimiterMemory({ points, duration: 10 }))
    expect(await limiter.consume('ann')).toMatchObject({
      allowed: false,
      limit: 0,
      remaining: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })

  it('R34: knows a quota that never comes back', async () => {
    const limiter = fromFlexible(new RateLimiterMemory({ points: 1, duration: 0 }))
    const never = Number.POSITIVE_INFINITY
    expect(await limiter.peek('ann')).toMatchObject({ allowed: true, resetMs: 0 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, resetMs: never })
    const refused = await limiter.consume('ann')
    expect(refused).toMatchObject({ allowed: false, retryAfterMs: never, resetMs: never })
    expect(refused.policies[0]).toMatchObject({ windowMs: never, nextMs: never })
    expect(await limiter.peek('ann')).toMatchObject({ allowed: false, retryAfterMs: never })
  })

  it('R34: takes parts of a second, parts of a unit and limits larger than ours', async () => {
    const limiter = fromFlexible(new RateLimiterMemory({ points: 2.5, duration: 2.007 }))
    expect(limiter.policies[0]).toMatchObject({ limit: 2, windowMs: 2007 })
    await limiter.consume('ann', { cost: 2 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: 2007 })
    const large = fromFlexible(new RateLimiterMemory({ points: 5_000_000_000, duration: 1 }))
    expect((await large.consume('ann')).remaining).toBe(4_999_999_999)
  })
})

describe('a block of the library', () => {
  it('R34: is a refusal for as long as it lasts', async () => {
    const memory = new RateLimiterMemory({ points: 1, duration: 10, blockDuration: 60 })
    const limiter = fromFlexible(memory)
    await limiter.consume('ann')
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    vi.advanceTimersByTime(59_999)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    vi.advanceTimersByTime(1)
    expect((await limiter.consume('ann')).allowed).toBe(true)
  })

  it('R34: may last for ever', async () => {
    const memory = new RateLimiterMemory({ points: 1, duration: 10 })
    const limiter = fromFlexible(memory)
    await memory.block('ann', 0)
    const never = { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY }
    expect(await limiter.peek('ann')).toMatchObject(never)
    expect(await limiter.consume('ann')).toMatchObject(never)
    await limiter.reset('ann')
    expect((await limiter.consume('ann')).allowed).toBe(true)
  })
})

describe('peek, refund and reset of a limiter that fromFlexible() made', () => {
  let memory: RateLimiterMemory
  let limiter: RateLimiter
  const spent = async () => (await memory.get('ann'))?.consumedPoints

  beforeEach(() => {
    memory = new RateLimiterMemory({ points: 5, duration: 10 })
    limiter = fromFlexible(memory)
  })

  it('R9, R34: peek changes nothing and agrees with the next consume', async () => {
    expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 5, resetMs: 0 })
    expect(await spent()).toBeUndefined()
    await limiter.consume('ann', { cost: 3 })
    expect(await limiter.peek('ann', { cost: 2 })).toMatchObject({ allowed: true, remaining: 2 })
    expect(await limiter.peek('ann', { cost: 3 })).toMatchObject({
      allowed: false,
      remaining: 2,
      retryAfterMs: 10_000,
    })
    expect(await spent()).toBe(3)
    expect((await limiter.consume('ann', { cost: 3 })).allowed).toBe(false)
  })

  it('R9, R34: peek is not fooled by a window that is over and not yet swept', async () => {
    await limiter.consume('ann', { cost: 5 })
    vi.setSystemTime(Date.now() + 10_000)
    expect(await spent()).toBe(5)
    expect(await limiter.peek('ann')).toMatchObject({ allowed: true, remaining: 5, resetMs: 0 })
    expect((await limiter.consume('ann')).allowed).toBe(true)
  })

  it('R8, R34: refund gives back what was spent, and not more', async () => {
    await limiter.consume('ann', { cost: 3 })
    await limiter.refund('ann', 1)
    expect(await spent()).toBe(2)
    await limiter.refund('ann', 100)
    expect(await spent()).toBe(0)
    await limiter.refund('ann', 1)
    expect(await spent()).toBe(0)
  })

  it('R8, R34: refund takes nothing from a key to which the library gave more than it had', async () => {
    await limiter.consume('ann', { cost: 3 })
    await memory.reward('ann', 5)
    await limiter.refund('ann', 1)
    expect(await spent()).toBe(-2)
  })

  it('R8, R34: refunds at the same time give back no more than was spent', async () => {
    await limiter.consume('ann', { cost: 3 })
    await Promise.all([
      limiter.refund('ann', 2),
      limiter.refund('ann', 2),
      limiter.refund('ann', 1),
    ])
    expect(await spent()).toBe(0)
  })

  it('R8, R34: refund creates no key and reaches into no later window', async () => {
    await limiter.refund('ann', 1)
    expect(await spent()).toBeUndefined()
    await limiter.consume('ann')
    vi.setSystemTime(Date.now() + 10_000)
    await limiter.refund('ann', 1)
    expect((await limiter.consume('ann')).remaining).toBe(4)
  })

  it('R34: reset forgets one key', async () => {
    await limiter.consume('ann', { cost: 5 })
    await limiter.consume('bob', { cost: 5 })
    await limiter.reset('ann')
    await limiter.reset('nobody')
    expect((await limiter.consume('ann')).allowed).toBe(true)
    expect((await limiter.consume('bob')).allowed).toBe(false)
  })
})

describe('a key of a limiter that fromFlexible() made', () => {
  it('R34: is the key that the library sees, if any store would take it', async () => {
    const memory = new RateLimiterMemory({ points: 1, duration: 10 })
    const limiter = fromFlexible(memory)
    await memory.consume('2001:db8:0:7::/56{a}*%')
    expect((await limiter.consume('2001:db8:0:7::/56{a}*%')).allowed).toBe(false)
  })

  it('R10, R34: is a subject of its own, however odd, and harmless to every store', async () => {
    const memory = new RateLimiterMemory({ points: 1, duration: 10 })
    const limiter = fromFlexible(memory)
    const odd = ['a b', 'a\nb', 'a\0b', 'a\u00a0b', '😀', '\ud83d', '\ude00', 'x'.repeat(10_000)]
    const keys = [...odd, 'x'.repeat(10_001), 'a*b', '*', '{a}', 'a:b', 'A:B', 'ab']
    for (const key of keys) expect((await limiter.consume(key)).allowed, key).toBe(true)
    const stored = memory.dump().storage.map((record) => String(record.key))
    for (const forged of stored.filter((key) => key.startsWith('sha256:')))
      expect((await limiter.consume(forged)).allowed, forged).toBe(true)
    for (const { key } of memory.dump().storage) expect(key).toMatch(/^[!-~]{1,128}$/)
  })
})
