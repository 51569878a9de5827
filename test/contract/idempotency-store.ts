import { type IdempotencyStore, memoryStore } from '@sluice/core'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { claimTests } from './idempotency-store/claims.ts'
import { KeyUnderTest, type Place } from './idempotency-store/key-under-test.ts'
import { outcomeTests } from './idempotency-store/outcomes.ts'
import { unknownTests } from './idempotency-store/unknown.ts'
import type { RedisPlace } from './redis-places.ts'

/** What every store of idempotency records must do. */
export function idempotencyStoreContract(name: string, open: () => Promise<Place>): void {
  describe(`idempotency records: ${name}`, () => {
    const at = new KeyUnderTest()
    beforeAll(async () => at.open(await open()), OPEN_MS)
    afterAll(() => at.close())
    beforeEach(() => at.renew())
    claimTests(at)
    outcomeTests(at)
    unknownTests(at)
  })
}

/** An embedded database sets itself up anew in each process: seconds of computing. */
const OPEN_MS = 120_000

/** The memory store under a clock of the test's. */
export async function memoryPlace(): Promise<Place> {
  let now = 0
  const store = memoryStore({ now: () => now })
  return {
    store: store.idempotency as IdempotencyStore,
    advance: async (ms) => {
      now += ms
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

/** The records of a store on real servers. */
export async function recordsOf(opening: Promise<RedisPlace>): Promise<Place> {
  const place = await opening
  return { ...place, store: place.store.idempotency as IdempotencyStore }
}
