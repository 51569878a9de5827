import type { ClaimedTask, RunEnd } from '@sluice/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { DelayPlace } from '../contract/delay-store/queue-under-test.ts'
import { memoryTasks, tasksOf } from '../contract/delay-store.ts'
import { ioredisPlace } from '../contract/redis-places.ts'
import { MAX_ATTEMPTS, MAX_PENDING, Model, VISIBILITY_MS } from './delay-model.ts'

/**
 * One thing that happens. `claim`: of the claims so far, counted from the last one; the older ones are those of workers
 * that were paused. A worker that was killed is one that does nothing any more.
 */
type Step =
  | { readonly do: 'schedule'; readonly id: string; readonly delayMs: number }
  | { readonly do: 'cancel' | 'redrive' | 'discard'; readonly id: string }
  | { readonly do: 'claim'; readonly max: number }
  | { readonly do: 'settle'; readonly claim: number; readonly end: RunEnd }
  | { readonly do: 'extend'; readonly claim: number }
  | { readonly do: 'pass'; readonly ms: number }

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const claim = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4)
const end = fc.constantFrom<RunEnd>(
  { state: 'done' },
  { state: 'retry', delayMs: 20_000 },
  { state: 'dead', error: { name: 'Error', message: 'no' } },
  { state: 'returned', attempted: true },
  { state: 'returned', attempted: false },
)

/** All times are multiples of 10 s: real time, which goes on too, never moves anything past anything else. */
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('schedule' as const),
    id,
    delayMs: fc.constantFrom(0, 0, 10_000, 40_000),
  }),
  fc.record({ do: fc.constantFrom('cancel' as const, 'redrive' as const, 'discard' as const), id }),
  fc.record({ do: fc.constant('claim' as const), max: fc.constantFrom(1, 1, 2, 10) }),
  fc.record({ do: fc.constant('claim' as const), max: fc.constantFrom(1, 10) }),
  fc.record({ do: fc.constant('settle' as const), claim, end }),
  fc.record({ do: fc.constant('extend' as const), claim }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(10_000, 20_000, 40_000) }),
)

const places = [
  { name: 'memory', open: memoryTasks, runs: 1000 },
  { name: 'Redis', open: () => tasksOf(ioredisPlace(inject('redisPort'))), runs: 200 },
]

describe.each(places)('a queue in $name, whatever happens to it', ({ open, runs }) => {
  let place: DelayPlace
  beforeAll(async () => {
    place = await open()
  })
  afterAll(() => place[Symbol.asyncDispose]())

  test('D2, D3, D5, D6, D8, D10: answers as a small model does, and its fences rise', async () => {
    let queues = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const life = new Life(place, `property ${++queues}`)
        for (const one of steps) await life.take(one)
      }),
      { numRuns: runs },
    )
  })
})

/** One queue, in the store and in the model. */
class Life {
  readonly #place: DelayPlace
  readonly #queue: string
  readonly #model = new Model()
  readonly #claims: ClaimedTask[] = []
  readonly #fences = new Map<string, number>()

  constructor(place: DelayPlace, queue: string) {
    this.#place = place
    this.#queue = queue
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'claim') await this.#claim(step.max)
    else if (step.do === 'settle') await this.#settle(this.#claims.at(-1 - step.claim), step.end)
    else if (step.do === 'extend') await this.#extend(this.#claims.at(-1 - step.claim))
    else if (step.do === 'pass') await this.#pass(step.ms)
    else if (step.do === 'schedule') await this.#schedule(step.id, step.delayMs)
    else await this.#operate(step.do, step.id)
    const { oldestDueMs, ...counts } = await this.#place.store.stats(this.#queue)
    expect(counts).toEqual(this.#model.stats)
    expect(oldestDueMs > 0 ? counts.due > 0 : true).toBe(true)
  }

  async #schedule(id: string, delayMs: number): Promise<void> {
    const task = { id, payload: '1', due: { delayMs }, maxPending: MAX_PENDING }
    const reply = await this.#place.store.schedule(this.#queue, task)
    expect(reply).toBe(this.#model.schedule(id, delayMs))
  }

  async #operate(operation: 'cancel' | 'redrive' | 'discard', id: string): Promise<void> {
    const done = await this.#place.store[operation](this.#queue, id)
    if (operation === 'redrive') expect(done).toBe(this.#model.redrive(id))
    else expect(done).toBe(this.#model.remove(id, operation === 'cancel' ? 'waiting' : 'dead'))
  }

  async #claim(max: number): Promise<void> {
    const claim = { max, visibilityMs: VISIBILITY_MS, maxAttempts: MAX_ATTEMPTS }
    const overdue = this.#model.claimable('running')
    const due = this.#model.claimable('waiting')
    const { tasks, expired, nextMs } = await this.#place.store.claim(this.#queue, claim)
    const again = tasks.map((task) => task.id).filter((one) => overdue.has(one))
    const died = expired.map((task) => task.id)
    const fresh = tasks.map((task) => task.id).filter((one) => !overdue.has(one))
    expectFirst(overdue, [...again, ...died], max)
    expectFirst(due, fresh, max - again.length)
    for (const one of again) expect(this.#model.dies(one)).toBe(false)
    for (const one of died) expect(this.#model.dies(one)).toBe(true)
    for (const one of died) this.#model.bury(one)
    for (const task of tasks) {
      expect(task.attempt).toBe(this.#model.take(task.id, task.receipt))
      expect(task.fence).toBeGreaterThan(this.#fences.get(task.id) ?? 0)
      this.#fences.set(task.id, task.fence)
    }
    this.#claims.push(...tasks)
    const expected = this.#model.nextMs
    if (expected === undefined || expected === 0) expect(nextMs).toBe(expected)
    else expect(Math.abs((nextMs ?? Number.NaN) - expected)).toBeLessThan(9000)
  }

  async #settle(task: ClaimedTask | undefined, end: RunEnd): Promise<void> {
    if (!task) return
    const reply = await this.#place.store.settle(this.#queue, task.id, task.receipt, end)
    expect(reply).toBe(this.#model.settle(task.id, task.receipt, end))
  }

  async #extend(task: ClaimedTask | undefined): Promise<void> {
    if (!task) return
    const { id, receipt } = task
    const extended = await this.#place.store.extend(this.#queue, id, receipt, VISIBILITY_MS)
    expect(extended).toBe(this.#model.extend(id, receipt))
  }

  async #pass(ms: number): Promise<void> {
    await this.#place.advance(ms)
    this.#model.now += ms
  }
}

/** As many as may be were taken, none before one that was ready earlier. */
function expectFirst(ready: Map<string, number>, taken: readonly string[], max: number): void {
  expect(taken).toHaveLength(Math.min(max, ready.size))
  for (const one of taken) expect(ready.has(one)).toBe(true)
  const left = [...ready].filter(([one]) => !taken.includes(one)).map(([, at]) => at)
  const latest = Math.max(...taken.map((one) => ready.get(one) ?? Number.NaN))
  if (left.length > 0 && taken.length > 0) expect(latest).toBeLessThanOrEqual(Math.min(...left))
}
