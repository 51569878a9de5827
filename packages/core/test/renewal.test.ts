import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Renewal } from '../src/resilience/renewal.ts'

const LEASE_MS = 30_000
const MAX_RUN_MS = 300_000

type Answer = boolean | 'fails' | 'hangs'

let sentAt: number[]
let lost: string[]

beforeEach(() => {
  vi.useFakeTimers()
  sentAt = []
  lost = []
})
afterEach(() => {
  vi.useRealTimers()
})

/** Begins now; its renewals get these answers, then `true`. */
function renewal(...answers: Answer[]): Renewal {
  const startedAt = performance.now()
  return new Renewal({
    startedAt,
    leaseMs: LEASE_MS,
    maxRunMs: MAX_RUN_MS,
    renew: async () => {
      sentAt.push(performance.now() - startedAt)
      const answer = answers.shift() ?? true
      if (answer === 'hangs') return new Promise(() => {})
      if (answer === 'fails') throw new Error('no answer')
      return answer
    },
    onLost: (reason) => lost.push(reason),
  })
}

describe('a lease while its owner runs', () => {
  test('I12: is renewed at each third', async () => {
    const { signal } = renewal()
    await vi.advanceTimersByTimeAsync(45_000)
    expect(sentAt).toEqual([10_000, 20_000, 30_000, 40_000])
    expect(signal.aborted).toBe(false)
  })

  test('I12: is tried again soon when a renewal fails', async () => {
    const { signal } = renewal('fails', 'fails')
    await vi.advanceTimersByTimeAsync(24_000)
    expect(sentAt).toEqual([10_000, 11_500, 13_000, 23_000])
    expect(signal.aborted).toBe(false)
    expect(lost).toEqual([])
  })

  test.each(['fails', 'hangs'] as const)(
    'I11: aborts its signal before it ends, when every renewal %s',
    async (answer) => {
      const { signal } = renewal(...Array.from({ length: 100 }, () => answer))
      await vi.advanceTimersByTimeAsync(26_999)
      expect(signal.aborted).toBe(false)
      await vi.advanceTimersByTimeAsync(2)
      expect(signal.reason).toMatchObject({ code: 'lease-lost', reason: 'silence' })
      const renewals = sentAt.length
      await vi.advanceTimersByTimeAsync(LEASE_MS)
      expect(sentAt).toHaveLength(renewals)
      expect(lost).toEqual(['silence'])
    },
  )

  test('I11: counts from before a renewal was sent, not from its answer', async () => {
    const lease = renewal(true, 'hangs')
    await vi.advanceTimersByTimeAsync(36_999)
    expect(lease.signal.aborted).toBe(false)
    expect(lease.endsAt - performance.now()).toBeCloseTo(3001)
    await vi.advanceTimersByTimeAsync(2)
    expect(lease.signal.aborted).toBe(true)
  })

  test('I11: aborts its signal as soon as the store says that it is over', async () => {
    const { signal } = renewal(true, false)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(signal.reason).toMatchObject({ code: 'lease-lost', reason: 'taken' })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sentAt).toEqual([10_000, 20_000])
  })

  test('I12: is not renewed for longer than maxRunMs, and its owner is told', async () => {
    const { signal } = renewal()
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS - 1)
    expect(signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(signal.reason).toMatchObject({ code: 'lease-lost', reason: 'max-run' })
    const last = sentAt.at(-1) ?? 0
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS)
    expect(sentAt.at(-1)).toBe(last)
    expect(last).toBeLessThan(MAX_RUN_MS)
  })

  test('I12: is left alone once it is settled', async () => {
    const lease = renewal('hangs')
    await vi.advanceTimersByTimeAsync(12_000)
    lease.stop()
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS)
    expect(sentAt).toEqual([10_000])
    expect(lease.signal.aborted).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('I11: that ended while the process stood still is seen to be over before any timer runs', () => {
    vi.useRealTimers() // no timer runs within this test
    const startedAt = performance.now() - LEASE_MS - 1
    const options = { startedAt, leaseMs: LEASE_MS, maxRunMs: MAX_RUN_MS, renew: async () => true }
    const onLost = (reason: string) => lost.push(reason)
    for (const renews of [true, false]) {
      const { signal } = new Renewal({ ...options, renews, onLost })
      expect(signal.reason).toMatchObject({ code: 'lease-lost', reason: 'silence' })
    }
    expect(lost).toEqual(['silence', 'silence'])
  })

  test('I12: of ten years is a timer like any other', async () => {
    const year = 31_536_000_000
    const renew = vi.fn(async () => true)
    const startedAt = performance.now()
    const options = { startedAt, leaseMs: 9 * year, maxRunMs: 10 * year, renew, onLost() {} }
    const { signal } = new Renewal(options)
    await vi.advanceTimersByTimeAsync(3 * year - 1000)
    expect(renew).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(2000)
    expect(renew).toHaveBeenCalledOnce()
    expect(signal.aborted).toBe(false)
  })
})
