import {
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Policy,
  redisStore,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { ClockedRedis } from '../contract/clocked-redis.ts'

// What each algorithm promises of the traffic it lets through, counted from outside: these tests know only
// when which cost was admitted, and nothing of states.

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())

describe.each([
  { name: 'memory', numRuns: 300, open: inMemory },
  { name: 'Redis', numRuns: 40, open: inRedis },
])('$name lets through', ({ numRuns, open }) => {
  const windows = {
    limit: fc.integer({ min: 1, max: 12 }),
    windowMs: fc.integer({ min: 1, max: 50 }),
  }

  test('a fixed window: at most the limit a window, and twice that around a boundary', async () => {
    await holds(numRuns, open, fc.record(windows), fixedWindow, ({ limit, windowMs }, admitted) => {
      for (const { at } of admitted)
        expect(sum(admitted, at - windowMs, at)).toBeLessThanOrEqual(2 * limit)
      for (const startedAt of startsOfWindows(admitted, windowMs))
        expect(sum(admitted, startedAt - 1, startedAt + windowMs - 1)).toBeLessThanOrEqual(limit)
    })
  })

  test('a sliding window: never more than its weighted estimate allows', async () => {
    await holds(numRuns, open, fc.record(windows), slidingWindow, (policy, admitted) => {
      const { limit, windowMs } = policy
      for (const { at, startedAt } of onGrid(admitted, windowMs)) {
        const current = sum(admitted, startedAt - 1, at)
        const previous = sum(admitted, startedAt - windowMs - 1, startedAt - 1)
        const coveredMs = startedAt + windowMs - at
        // In whole numbers, since limit ≥ current + previous × covered / window.
        expect(limit * windowMs).toBeGreaterThanOrEqual(current * windowMs + previous * coveredMs)
      }
    })
  })

  test('a sliding log: as much as fits into every position of the window, no less and no more', async () => {
    await holds(numRuns, open, fc.record(windows), slidingLog, (policy, admitted, refused) => {
      const { limit, windowMs } = policy
      for (const { at } of admitted)
        expect(sum(admitted, at - windowMs, at)).toBeLessThanOrEqual(limit)
      for (const { at, cost, position } of refused) {
        const before = admitted.filter((call) => call.position < position)
        expect(sum(before, at - windowMs, at) + cost).toBeGreaterThan(limit)
      }
    })
  })

  const rates = {
    capacity: windows.limit,
    amount: fc.integer({ min: 1, max: 9 }),
    ms: windows.windowMs,
  }

  test('a token bucket: its capacity and what comes back meanwhile, in every span of time', async () => {
    const make = ({ capacity, amount, ms }: { capacity: number; amount: number; ms: number }) =>
      tokenBucket({ capacity, refill: amount, refillMs: ms })
    await holds(numRuns, open, fc.record(rates), make, ({ capacity, amount, ms }, admitted) => {
      for (const [from, first] of admitted.entries()) {
        for (const last of admitted.slice(from)) {
          const passed = sum(admitted.slice(from), first.at - 1, last.at)
          const most = capacity * ms + (last.at - first.at) * amount
          expect(passed * ms).toBeLessThanOrEqual(most)
        }
      }
    })
  })

  test('a leaky bucket: turns at its steady rate, however the calls come', async () => {
    const make = ({ capacity, amount, ms }: { capacity: number; amount: number; ms: number }) =>
      leakyBucket({ capacity, drain: amount, drainMs: ms })
    await holds(numRuns, open, fc.record(rates), make, ({ amount, ms }, admitted) => {
      for (const [from, first] of admitted.entries()) {
        for (const [index, last] of admitted.slice(from + 1).entries()) {
          // From the first call's turn to the last one's, all but the last are served; turns are rounded up to 1 ms.
          const served = admitted
            .slice(from, from + 1 + index)
            .reduce((all, { cost }) => all + cost, 0)
          const spanMs = last.at + last.delayMs - first.at - first.delayMs
          expect((spanMs + 1) * amount).toBeGreaterThan(served * ms - amount)
        }
      }
    })
  })
})

interface Call {
  readonly position: number
  readonly at: number
  readonly cost: number
  readonly delayMs: number
}

/** Sends calls at any times to a policy of any size, and checks what was admitted and what was refused. */
async function holds<Numbers>(
  numRuns: number,
  open: (clock: { now: number }) => Opened,
  numbers: fc.Arbitrary<Numbers>,
  make: (numbers: Numbers) => Policy,
  check: (numbers: Numbers, admitted: readonly Call[], refused: readonly Call[]) => void,
): Promise<void> {
  const call = fc.record({
    afterMs: fc.oneof(fc.nat(3), fc.nat(60)),
    cost: fc.integer({ min: 1, max: 4 }),
  })
  const calls = fc.array(call, { minLength: 1, maxLength: 60, size: 'max' })
  const property = fc.asyncProperty(numbers, calls, async (numbers, calls) => {
    const clock = { now: 1_800_000_000_000 }
    const { store, done } = open(clock)
    const quota = { name: 'bounded', policies: [make(numbers)] }
    const admitted: Call[] = []
    const refused: Call[] = []
    for (const [position, { afterMs, cost }] of calls.entries()) {
      clock.now += afterMs
      const [standing] = await store.rateLimit.consume(quota, 'subject', cost)
      const outcome = standing?.allowed ? admitted : refused
      outcome.push({ position, at: clock.now, cost, delayMs: standing?.delayMs ?? 0 })
    }
    check(numbers, admitted, refused)
    await done()
  })
  await fc.assert(property, { numRuns })
}

interface Opened {
  readonly store: Store
  readonly done: () => Promise<void>
}

function inMemory(clock: { readonly now: number }): Opened {
  const store = memoryStore({ now: () => clock.now })
  return { store, done: () => store.close() }
}

function inRedis(clock: { readonly now: number }): Opened {
  const prefix = `bounds:${crypto.randomUUID()}`
  const client = new ClockedRedis(redis, `${prefix}-books`, () => clock.now)
  return { store: redisStore(client, { prefix }), done: () => client.clear() }
}

/** The costs admitted after `after`, up to and with `until`. */
function sum(calls: readonly Call[], after: number, until: number): number {
  return calls
    .filter(({ at }) => at > after && at <= until)
    .reduce((all, { cost }) => all + cost, 0)
}

/** A window starts at the first call that the one before does not hold. */
function startsOfWindows(calls: readonly Call[], windowMs: number): readonly number[] {
  const starts: number[] = []
  for (const { at } of calls) {
    const last = starts.at(-1)
    if (last === undefined || at >= last + windowMs) starts.push(at)
  }
  return starts
}

/** Each call with the start of its window: windows follow one another from the first call after a pause of two. */
function onGrid(calls: readonly Call[], windowMs: number): { at: number; startedAt: number }[] {
  let startedAt = Number.NEGATIVE_INFINITY
  let lastWindow = startedAt
  return calls.map(({ at }) => {
    const turns = Math.floor((at - startedAt) / windowMs)
    const next = startedAt + turns * windowMs
    startedAt = next - lastWindow > windowMs || !Number.isFinite(next) ? at : next
    lastWindow = startedAt
    return { at, startedAt }
  })
}
