import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createRateLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'

const HOUR_MS = 3_600_000

describe.each([
  fixedWindow({ limit: 2, windowMs: HOUR_MS }),
  slidingWindow({ limit: 2, windowMs: HOUR_MS }),
  slidingLog({ limit: 2, windowMs: HOUR_MS }),
  tokenBucket({ capacity: 2, refill: 1, refillMs: HOUR_MS }),
  leakyBucket({ capacity: 1, drain: 1, drainMs: HOUR_MS }),
])('R12: a memory store of 100 keys, under a $algorithm', (policy) => {
  it('refuses whom it refused, whatever endless fresh keys come', async () => {
    const { limiter } = bounded(policy)
    await exhaust(limiter, 'victim')
    for (let index = 0; index < 2000; index++) await limiter.consume(`fresh ${index}`)
    expect(await limiter.consume('victim')).toMatchObject({ allowed: false })
  })

  it('forgets first whose refusal is over', async () => {
    const { limiter, clock } = bounded(policy)
    for (let index = 0; index < 99; index++) await exhaust(limiter, `early ${index}`)
    clock.now += 3 * HOUR_MS
    await exhaust(limiter, 'victim')
    for (let index = 0; index < 99; index++) await exhaust(limiter, `late ${index}`)
    expect(await limiter.consume('victim')).toMatchObject({ allowed: false })
  })

  it('forgets, when all are over their limits, the one whose refusal ends soonest', async () => {
    const { limiter, clock } = bounded(policy)
    await exhaust(limiter, 'soonest')
    clock.now += 10
    for (let index = 0; index < 99; index++) await exhaust(limiter, `later ${index}`)
    await limiter.consume('fresh')
    expect(await limiter.peek('soonest')).toMatchObject({ allowed: true })
    for (let index = 0; index < 99; index++)
      expect(await limiter.peek(`later ${index}`)).toMatchObject({ allowed: false })
  })
})

it('R12: a lowered limit puts a subject over it, and so out of reach of fresh keys', async () => {
  const store = memoryStore({ maxKeys: 100, now: () => 0 })
  const high = fixedWindow({ limit: 10, windowMs: HOUR_MS })
  const low = createRateLimiter({
    name: 'a',
    store,
    policy: fixedWindow({ limit: 2, windowMs: HOUR_MS }),
  })
  await createRateLimiter({ name: 'a', store, policy: high }).consume('victim', { cost: 5 })
  expect(await low.consume('victim')).toMatchObject({ allowed: false })
  for (let index = 0; index < 1000; index++) await low.consume(`fresh ${index}`)
  expect(await low.consume('victim')).toMatchObject({ allowed: false })
})

describe('R12: the timer that reclaims expired subjects', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('runs while there is something to reclaim, and once for a store', async () => {
    let now = 0
    const store = memoryStore({ now: () => now })
    const limiter = createRateLimiter({
      name: 'a',
      store,
      policy: fixedWindow({ limit: 2, windowMs: 1000 }),
    })
    expect(vi.getTimerCount()).toBe(0)
    for (const key of ['a', 'b', 'c']) await limiter.consume(key)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(120_000)
    expect(vi.getTimerCount()).toBe(1)
    now = 1000
    vi.advanceTimersByTime(60_000)
    expect(vi.getTimerCount()).toBe(0)
    await limiter.consume('a')
    expect(vi.getTimerCount()).toBe(1)
    await store.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})

it('R12: no timer holds the process open', async () => {
  const script = fileURLToPath(new URL('children/idle-memory-store.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  const [code, signal] = await once(child, 'exit')
  expect(String(line)).toBe('refused\n')
  expect([code, signal]).toEqual([0, null])
}, 20_000)

it('R4: counts in whole milliseconds, whatever fractions its clock has', async () => {
  let now = 0.7
  const store = memoryStore({ now: () => now })
  const limiter = createRateLimiter({
    name: 'a',
    store,
    policy: slidingLog({ limit: 1, windowMs: 10 }),
  })
  await limiter.consume('a')
  now = 3.2
  const { retryAfterMs, resetMs } = await limiter.consume('a')
  expect([retryAfterMs, resetMs]).toEqual([7, 7])
  now = 3.2 + 6
  expect(await limiter.consume('a')).toMatchObject({ allowed: false })
  now = 3.2 + 7
  expect(await limiter.consume('a')).toMatchObject({ allowed: true })
})

it('counts on the process clock, which nobody can set, when no clock is given', async () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] })
  try {
    const limiter = createRateLimiter({ policy: fixedWindow({ limit: 1, windowMs: HOUR_MS }) })
    expect(await limiter.consume('a')).toMatchObject({ allowed: true })
    vi.setSystemTime(10 * HOUR_MS)
    expect(await limiter.consume('a')).toMatchObject({ allowed: false })
  } finally {
    vi.useRealTimers()
  }
})

function bounded(policy: Policy) {
  const clock = { now: 0 }
  const store = memoryStore({ maxKeys: 100, now: () => clock.now })
  return { clock, limiter: createRateLimiter({ name: 'bounded', store, policy }) }
}

async function exhaust(limiter: ReturnType<typeof createRateLimiter>, key: string): Promise<void> {
  for (let call = 0; call < 2; call++)
    expect(await limiter.consume(key)).toMatchObject({ allowed: true })
}
