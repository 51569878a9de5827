import { type LockStore, memoryStore } from '@sluice/core'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { grantTests } from './lock-store/grants.ts'
import { lineTests } from './lock-store/line.ts'
import { type LockPlace, LocksUnderTest } from './lock-store/locks-under-test.ts'
import { passingTests } from './lock-store/passing.ts'
import { severalTests } from './lock-store/several.ts'

/** What every store of locks must do; `lines`: if processes can stand in line there. */
export function lockStoreContract(
  name: string,
  open: () => Promise<LockPlace>,
  { lines = true }: { readonly lines?: boolean } = {},
): void {
  describe(`locks: ${name}`, () => {
    const at = new LocksUnderTest()
    beforeAll(async () => at.open(await open()), 60_000)
    afterAll(() => at.close())
    beforeEach(() => at.renew())
    grantTests(at)
    severalTests(at)
    if (!lines) return
    lineTests(at)
    passingTests(at)
  })
}

/** The memory store under a clock of the test's. */
export async function memoryLocks(): Promise<LockPlace> {
  let now = 0
  const store = memoryStore({ now: () => now })
  return {
    store: store.lock as LockStore,
    advance: async (ms) => {
      now += ms
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}
