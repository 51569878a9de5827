import { describe } from 'vitest'
import { identityContract } from './rate-limit/identity.ts'
import { lookingAndGivingBackContract } from './rate-limit/looking-and-giving-back.ts'
import { numbersContract } from './rate-limit/numbers.ts'
import type { StoreUnderTest } from './rate-limit/rig.ts'
import { spendingContract } from './rate-limit/spending.ts'
import { waitingContract } from './rate-limit/waiting.ts'

/**
 * What every store for rate limiting must do, by the numbers of the requirements. A store's own test is one call:
 *
 *     rateLimitStoreContract({
 *       name: 'my store',
 *       makeStore: () => myStore(connection, { prefix: randomUUID() }),
 *       advance: (ms) => theServersClockHasGoneOnBy(ms),
 *       now: () => theServersClock(),
 *     })
 *
 * Where the clock is the test's own, `now` is left out, and what is then exact is tested exactly.
 */
export function rateLimitStoreContract(store: StoreUnderTest): void {
  describe(store.name, () => {
    spendingContract(store)
    waitingContract(store)
    numbersContract(store)
    lookingAndGivingBackContract(store)
    identityContract(store)
  })
}
