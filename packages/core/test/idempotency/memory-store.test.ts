import { createIdempotency, memoryStore, StoreUnavailableError } from '@sluice/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ExpiryHeap } from '../../src/expiry-heap.ts'

const response = { status: 200, headers: [], body: 'done' }

describe('a memory store that is full', () => {
  function full(maxKeys = 3) {
    const clock = { now: 0 }
    const store = memoryStore({ maxKeys, now: () => clock.now })
    const idempotency = createIdempotency({ store, leaseMs: 1000, resultTtlMs: 10_000 })
    const begin = async (key: string) => {
      const begun = await idempotency.begin({ key, fingerprint: 'x' })
      if (begun.state === 'started') return begun.execution
      throw new Error(begun.state)
    }
    return { clock, idempotency, begin }
  }

  test('I20: refuses new keys, and drops neither claims nor results nor unknown outcomes', async () => {
    const { clock, idempotency, begin } = full()
    await begin('unknown')
    clock.now += 1500
    await begin('claimed')
    await (await begin('completed')).complete(response)
    for (const key of ['a', 'b', 'c'])
      await expect(idempotency.begin({ key, fingerprint: 'x' })).rejects.toMatchObject({
        code: 'store-unavailable',
        reason: 'full',
        name: StoreUnavailableError.name,
      })
    const states = async (key: string) => (await idempotency.inspect(key))?.state
    for (const state of ['unknown', 'claimed', 'completed']) expect(await states(state)).toBe(state)
    // Keys that it knows go on.
    expect(await idempotency.begin({ key: 'completed', fingerprint: 'x' })).toEqual({
      state: 'replay',
      response,
    })
    expect(await idempotency.confirm('unknown', response)).toBe(true)
  })

  test('I20: has room again for what was released or has expired', async () => {
    const { clock, begin } = full()
    const first = await begin('a')
    await (await begin('b')).complete(response)
    await begin('c')
    await first.release()
    await begin('d')
    await expect(begin('e')).rejects.toThrow(StoreUnavailableError)
    clock.now += 10_000
    await begin('e')
    await expect(begin('f')).rejects.toThrow(StoreUnavailableError)
    clock.now += 1000
    for (const key of ['f', 'g']) await begin(key)
    await expect(begin('h')).rejects.toThrow(StoreUnavailableError)
  })
})

test('I20: a store keeps its own copy of what it was given', async () => {
  const idempotency = createIdempotency({ store: memoryStore() })
  const body = Buffer.from('as it was')
  const begun = await idempotency.begin({ key: 'k', fingerprint: 'x' })
  if (begun.state !== 'started') throw new Error(begun.state)
  await begun.execution.complete({ status: 200, headers: [], body })
  body.fill(0)
  const again = await idempotency.begin({ key: 'k', fingerprint: 'x' })
  expect(again).toMatchObject({ response: { body: Buffer.from('as it was') } })
})

test('I20: what expires soonest is found, whatever was added and removed before', () => {
  const action = fc.oneof(fc.nat({ max: 50 }), fc.constant('remove' as const))
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), fc.nat(), (actions, seed) => {
      const heap = new ExpiryHeap<Item>()
      const items: Item[] = []
      for (const one of actions) {
        if (one === 'remove') removeOne(heap, items, seed)
        else addOne(heap, items, one)
        expect(heap.soonest?.expiresAt ?? Number.POSITIVE_INFINITY).toBe(
          Math.min(...items.map(({ expiresAt }) => expiresAt)),
        )
      }
    }),
  )
})

interface Item {
  expiresAt: number
  position: number
}

function addOne(heap: ExpiryHeap<Item>, items: Item[], expiresAt: number): void {
  const item = { expiresAt, position: -1 }
  items.push(item)
  heap.add(item)
}

function removeOne(heap: ExpiryHeap<Item>, items: Item[], seed: number): void {
  const [item] = items.splice(seed % (items.length || 1), 1)
  if (item) heap.remove(item)
}
