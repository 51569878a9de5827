import type { Settlement, Subject } from '@sluice/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  claimOf,
  fingerprintOf,
  ownerOf,
  type Place,
} from '../contract/idempotency-store/key-under-test.ts'
import { memoryPlace, recordsOf } from '../contract/idempotency-store.ts'
import { ioredisPlace } from '../contract/redis-places.ts'
import { type Ending, LEASE_MS, Model, TTL_MS } from './idempotency-model.ts'

const lifetimes = { leaseMs: LEASE_MS, resultTtlMs: TTL_MS }

const settlements: Readonly<Record<Ending, Settlement>> = {
  completed: { state: 'completed', response: { status: 200, headers: [], body: 'done' } },
  tombstone: { state: 'tombstone', tombstone: {} },
  unknown: { state: 'unknown' },
  absent: { state: 'absent' },
}

/** One thing that happens. An owner that crashes is one that does nothing any more. */
type Step =
  | { readonly do: 'begin'; readonly fingerprint: number; readonly rerun: boolean }
  | { readonly do: 'resend' | 'renew'; readonly owner: number }
  | { readonly do: 'settle'; readonly owner: number | undefined; readonly ending: Ending }
  | { readonly do: 'pass'; readonly ms: number }

/** Recent owners are of more interest than those long gone. */
const owner = fc.integer({ min: 0, max: 2 })
const ending = fc.constantFrom<Ending>('completed', 'tombstone', 'unknown', 'absent')

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('begin' as const),
    fingerprint: fc.constantFrom(0, 0, 0, 1),
    rerun: fc.boolean(),
  }),
  fc.record({ do: fc.constantFrom('resend' as const, 'renew' as const), owner }),
  fc.record({ do: fc.constant('settle' as const), owner, ending }),
  fc.record({
    do: fc.constant('settle' as const),
    owner: fc.constant(undefined),
    ending: fc.constantFrom<Ending>('completed', 'absent'),
  }),
  fc.record({
    do: fc.constant('pass' as const),
    // See TTL_MS: real time goes on too.
    ms: fc.constantFrom(0.4 * LEASE_MS, 1.3 * LEASE_MS, TTL_MS + 1.3 * LEASE_MS),
  }),
)

const places = [
  { name: 'memory', open: memoryPlace, runs: 2000 },
  { name: 'Redis', open: () => recordsOf(ioredisPlace(inject('redisPort'))), runs: 250 },
]

describe.each(places)('a key in $name, whatever happens to it', ({ open, runs }) => {
  let place: Place
  beforeAll(async () => {
    place = await open()
  })
  afterAll(() => place[Symbol.asyncDispose]())

  test('I1, I2, I11, I12, I13, I14: answers as a small model does, and its fences rise', async () => {
    let keys = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const life = new Life(place, { scope: 'property', key: `key ${++keys}` })
        for (const one of steps) await life.take(one)
      }),
      { numRuns: runs },
    )
  })
})

/** One key, in the store and in the model. */
class Life {
  readonly #place: Place
  readonly #subject: Subject
  readonly #model = new Model()
  #owners = 0
  /** The owner who asked last, and with what. */
  #granted: { owner: number; fingerprint: number; attempt: number; fence: number } | undefined
  #lastFence = 0

  constructor(place: Place, subject: Subject) {
    this.#place = place
    this.#subject = subject
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'begin') await this.#begin(step.fingerprint, step.rerun)
    if (step.do === 'resend') await this.#resend()
    if (step.do === 'renew') await this.#renew(this.#owners - step.owner)
    if (step.do === 'settle')
      await this.#settle(
        step.owner === undefined ? undefined : this.#owners - step.owner,
        step.ending,
      )
    if (step.do === 'pass') await this.#pass(step.ms)
    const record = await this.#place.store.read(this.#subject)
    expect(record?.state).toBe(this.#model.state)
    if (record) expect(record.attempt).toBe(this.#model.attempt)
  }

  async #begin(fingerprint: number, rerun: boolean): Promise<void> {
    const owner = ++this.#owners
    const reply = await this.#claim(owner, fingerprint, rerun)
    expect(reply.state).toBe(this.#model.claim(owner, fingerprint, rerun))
    if (reply.state !== 'started') return
    expect(reply.fence).toBeGreaterThan(this.#lastFence)
    this.#lastFence = reply.fence
    this.#granted = { owner, fingerprint, attempt: reply.attempt, fence: reply.fence }
  }

  /** The grant's reply was lost, and the client sends the claim again while it still holds. */
  async #resend(): Promise<void> {
    const granted = this.#granted
    if (!granted || !this.#model.renew(granted.owner)) return
    const { owner, fingerprint, attempt, fence } = granted
    const reply = await this.#claim(owner, fingerprint, false)
    expect(reply).toEqual({ state: 'started', attempt, fence })
  }

  async #renew(owner: number): Promise<void> {
    const renewed = await this.#place.store.renew(this.#subject, nameOf(owner), lifetimes)
    expect(renewed).toBe(this.#model.renew(owner))
  }

  async #settle(owner: number | undefined, ending: Ending): Promise<void> {
    const name = owner === undefined ? undefined : nameOf(owner)
    const settlement = settlements[ending]
    const reply = await this.#place.store.settle(this.#subject, name, settlement, lifetimes)
    expect(reply).toBe(this.#model.settle(owner, ending))
  }

  async #pass(ms: number): Promise<void> {
    await this.#place.advance(ms)
    this.#model.advance(ms)
  }

  #claim(owner: number, fingerprint: number, rerun: boolean) {
    const claim = { ...claimOf('', lifetimes), owner: nameOf(owner), rerun }
    const digest = fingerprintOf(String(fingerprint))
    return this.#place.store.claim(this.#subject, { ...claim, fingerprint: digest })
  }
}

function nameOf(owner: number): string {
  return ownerOf(`owner ${owner}`)
}
