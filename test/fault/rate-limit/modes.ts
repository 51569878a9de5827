import { setTimeout as sleep } from 'node:timers/promises'
import {
  createRateLimiter,
  type Decision,
  type DecisionSource,
  fixedWindow,
  type OnStoreFailure,
  type RateLimiter,
  type Store,
} from '@sluice/core'

/** The deadline of a store call: the default. */
const TIMEOUT_MS = 500
/** What settles later than this did not keep its deadline, however busy the machine is. */
const HUNG_MS = 5 * TIMEOUT_MS
const LIMIT = 10_000
const SPARE_LIMIT = 7777

/** One way to answer for a store that has failed. */
export interface Mode {
  readonly name: string
  readonly onStoreFailure: OnStoreFailure
  /** What its decisions say while the store has failed. */
  readonly degraded: Pick<Decision, 'source' | 'allowed' | 'limit'>
}

/** Every value of `onStoreFailure`; a limiter given there shows by its limit. */
export function modes(): readonly Mode[] {
  return [
    mode('open', 'open', { source: 'open' }),
    mode('closed', 'closed', { source: 'closed', allowed: false }),
    mode('local', 'local', { source: 'local' }),
    mode('limiter', spare(), { source: 'local', limit: SPARE_LIMIT }),
  ]
}

function mode(
  name: string,
  onStoreFailure: OnStoreFailure,
  degraded: { source: DecisionSource; allowed?: boolean; limit?: number },
): Mode {
  return { name, onStoreFailure, degraded: { allowed: true, limit: LIMIT, ...degraded } }
}

function spare(): RateLimiter {
  return createRateLimiter({
    name: 'spare',
    policy: fixedWindow({ limit: SPARE_LIMIT, windowMs: 600_000 }),
  })
}

/** A limiter of each mode on one store, and what was wrong with its answers. */
export class Limiters {
  /** Decisions that neither the store nor the mode could have made, and calls that rejected or hung. */
  readonly wrong: unknown[] = []
  /** How often each limiter was asked. */
  asked = 0
  readonly all: readonly { readonly mode: Mode; readonly limiter: RateLimiter }[]

  constructor(store: Store) {
    const policy = fixedWindow({ limit: LIMIT, windowMs: 600_000 })
    this.all = modes().map((mode) => {
      const { name, onStoreFailure } = mode
      return { mode, limiter: createRateLimiter({ name, store, policy, onStoreFailure }) }
    })
  }

  /** Asks all of them at once. */
  async consume(key = 'k'): Promise<readonly Decision[]> {
    this.asked++
    return Promise.all(this.all.map(({ mode, limiter }) => this.#consume(mode, limiter, key)))
  }

  /** Whether the store has decided for all of them. */
  async areServed(key = 'k'): Promise<boolean> {
    return (await this.consume(key)).every(({ source }) => source === 'store')
  }

  /** Asks again and again, as an application would, while `fault` runs. */
  async consumeDuring(fault: () => Promise<void>): Promise<void> {
    let over = false
    const ended = fault().finally(() => {
      over = true
    })
    ended.catch(() => {}) // it is awaited when the last calls have settled
    while (!over) await Promise.all([this.consume(), sleep(5)])
    await ended
  }

  /** What `consume` should answer while the store has failed. */
  get degraded(): readonly Mode['degraded'][] {
    return this.all.map(({ mode }) => mode.degraded)
  }

  /** What each has spent of its quota in the store. */
  async spent(key = 'k'): Promise<readonly number[]> {
    const decisions = await Promise.all(this.all.map(({ limiter }) => limiter.peek(key)))
    return decisions.map(({ limit, remaining }) => limit - remaining)
  }

  async #consume(mode: Mode, limiter: RateLimiter, key: string): Promise<Decision> {
    try {
      const decision = await inTime(limiter.consume(key))
      if (!isOf(mode, decision)) this.wrong.push({ mode: mode.name, decision })
      return decision
    } catch (error) {
      this.wrong.push({ mode: mode.name, error })
      throw error
    }
  }
}

function isOf({ degraded }: Mode, { source, allowed, limit }: Decision): boolean {
  if (source === 'store') return allowed && limit === LIMIT
  return source === degraded.source && allowed === degraded.allowed && limit === degraded.limit
}

/** The same promise, unless it hangs: no deadline was kept then. */
export function inTime<T>(promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const hung = () => reject(new Error(`pending after ${HUNG_MS} ms: the deadline was not kept`))
    const timer = setTimeout(hung, HUNG_MS)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
