import { type DelayStore, memoryStore } from '@sluice/core'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { claimTests } from './delay-store/claims.ts'
import { endingTests } from './delay-store/endings.ts'
import { type DelayPlace, QueueUnderTest } from './delay-store/queue-under-test.ts'
import { schedulingTests } from './delay-store/scheduling.ts'
import type { RedisPlace } from './redis-places.ts'

/** What every store of delayed tasks must do. */
export function delayStoreContract(name: string, open: () => Promise<DelayPlace>): void {
  describe(`delayed tasks: ${name}`, () => {
    const at = new QueueUnderTest()
    beforeAll(async () => at.open(await open()))
    afterAll(() => at.close())
    beforeEach(() => at.renew())
    schedulingTests(at)
    claimTests(at)
    endingTests(at)
  })
}

/** The memory store under a clock of the test's. */
export async function memoryTasks(): Promise<DelayPlace> {
  let now = 0
  const store = memoryStore({ now: () => now })
  return {
    store: store.delay as DelayStore,
    advance: async (ms) => {
      now += ms
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

/** The tasks of a store on real servers. */
export async function tasksOf(opening: Promise<RedisPlace>): Promise<DelayPlace> {
  const place = await opening
  return { ...place, store: place.store.delay as DelayStore }
}
