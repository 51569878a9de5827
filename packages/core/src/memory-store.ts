import { MemoryDelayStore } from './delay/memory-store.ts'
import { MemoryIdempotencyStore } from './idempotency/memory-store.ts'
import { MemoryLockStore } from './lock/memory-store.ts'
import { callback, checkOptions, integer, withDefaults } from './options.ts'
import { MemoryRateLimitStore } from './rate-limit/memory-store.ts'
import type { Store } from './store.ts'

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /**
   * Kept at most, by each capability: an integer from 1 to 10,000,000; default 100,000. Rate limiting (a subject and a
   * policy each) then forgets whoever was idle longest; idempotency and locks refuse new keys, delay queues new tasks,
   * and they forget nothing.
   */
  readonly maxKeys?: number | undefined
  /** The clock, in milliseconds, never going back; default the process's monotonic clock. For tests. */
  readonly now?: (() => number) | undefined
}

/**
 * A store in this process: no server, nothing shared with other processes, bounded by `maxKeys`.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or out of range.
 * @example
 * ```ts
 * import { createRateLimiter, fixedWindow, memoryStore } from '@sluice/core'
 *
 * let now = 0
 * const limiter = createRateLimiter({
 *   policy: fixedWindow({ limit: 1, windowMs: 1000 }),
 *   store: memoryStore({ now: () => now }),
 * })
 * await limiter.consume('user:1')
 * now += 1000
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const checked = checkOptions('memoryStore', options, rules)
  const { maxKeys, now } = withDefaults(checked, defaults)
  const rateLimit = new MemoryRateLimitStore({ maxKeys, now })
  const idempotency = new MemoryIdempotencyStore({ maxKeys, now })
  const lock = new MemoryLockStore({ maxKeys, now })
  return {
    rateLimit,
    idempotency,
    lock,
    delay: new MemoryDelayStore({ maxKeys, now }),
    close: async () => {
      rateLimit.close()
      idempotency.close()
      lock.close()
    },
  }
}

/** The store of everything in this process that is given none: state in two of them would be no protection. */
export function processStore(): Store {
  shared ??= memoryStore()
  return shared
}

let shared: Store | undefined

const rules = { maxKeys: integer(1, 10_000_000), now: callback }

const defaults = {
  maxKeys: 100_000,
  now: () => performance.now(),
}
