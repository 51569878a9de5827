import { createLocker, type LockClaim, type Locker } from '@sluice/core'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { Masters, type View } from './masters.ts'

/** Independent masters for the tests of one suite; each has a key and a view of its own. */
class MastersUnderTest {
  readonly minority: readonly number[]
  readonly majority: readonly number[]
  key = ''
  #masters: Masters | undefined
  #view: View | undefined
  #tests = 0

  constructor(count: number) {
    this.minority = Array.from({ length: Math.floor(count / 2) }, (_, index) => index)
    this.majority = Array.from({ length: Math.floor(count / 2) + 1 }, (_, index) => index)
  }

  get masters(): Masters {
    if (!this.#masters) throw new Error('not started')
    return this.#masters
  }

  /** As the test's own process sees them. */
  get view(): View {
    if (!this.#view) throw new Error('not joined')
    return this.#view
  }

  async start(count: number): Promise<void> {
    this.#masters = await Masters.start(count)
  }

  async renew(): Promise<void> {
    this.key = `k${++this.#tests}`
    this.#view = await this.masters.join()
  }

  locker(from: View = this.view, leaseMs = 10_000): Locker {
    return createLocker({ store: from.store, leaseMs, timeoutMs: 2000 })
  }

  nothingLeft(): Promise<unknown> {
    return eventually(async () => (await this.masters.holders(this.key)) === 0)
  }
}

export function mastersUnderTest(count: number): MastersUnderTest {
  const at = new MastersUnderTest(count)
  beforeAll(() => at.start(count))
  afterAll(() => at.masters[Symbol.asyncDispose]())
  beforeEach(() => at.renew())
  return at
}

export function claim(token: string, leaseMs = 10_000): LockClaim {
  return { token, leaseMs, metadata: '"m"' }
}
