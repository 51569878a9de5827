import { memoryStore } from '../memory-store.ts'
import { localStore } from '../rate-limit/degradation.ts'
import { limiterOf, type RateLimiter, type RateLimiterOptions } from '../rate-limit/limiter.ts'
import type { Policy } from '../rate-limit/policy.ts'
import { checkPolicies } from '../rate-limit/policy-set.ts'
import { warnOfSharedDefault } from '../rate-limit/unnamed.ts'

/**
 * The limiters of a route whose policies depend on the request. Equal policies share a limiter, and all
 * of them one store, and one for the time when that fails: what a subject has spent is kept there by policy name, so
 * a changed limit finds it.
 */
export class LimiterPool {
  readonly #options: Omit<RateLimiterOptions, 'policy'>
  readonly #local = localStore()
  readonly #limiters = new Map<string, RateLimiter>()

  constructor(options: Omit<RateLimiterOptions, 'policy'>) {
    const store = options.store ?? memoryStore()
    // A store that cannot limit rates throws here, at construction, not at the first request.
    void store.rateLimit
    warnOfSharedDefault(options)
    this.#options = { ...options, store }
  }

  /** @throws ConfigurationError (`configuration`) when the application's function gave no policies. */
  limiterFor(given: unknown): RateLimiter {
    const policies = checkPolicies('rateLimit', given)
    const content = policies.map(contentOf).join()
    const known = this.#limiters.get(content)
    if (known) {
      // A Map keeps the order of insertion: moved to its end, the least recently used is first.
      this.#limiters.delete(content)
      this.#limiters.set(content, known)
      return known
    }
    const limiter = limiterOf(policies, this.#options, this.#local)
    this.#limiters.set(content, limiter)
    if (this.#limiters.size > MAX_LIMITERS) this.#dropOldest()
    return limiter
  }

  #dropOldest(): void {
    for (const content of this.#limiters.keys()) {
      this.#limiters.delete(content)
      return
    }
  }
}

/** An application has a few plans; one that computes a limit for each request must not fill the memory. */
const MAX_LIMITERS = 1000

const contents = new WeakMap<Policy, string>()

function contentOf(policy: Policy): string {
  let content = contents.get(policy)
  if (content === undefined) {
    content = JSON.stringify(policy)
    contents.set(policy, content)
  }
  return content
}
