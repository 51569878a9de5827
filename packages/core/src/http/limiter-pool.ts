import { memoryStore } from '../memory-store.ts'
import {
  createRateLimiter,
  type RateLimiter,
  type RateLimiterOptions,
} from '../rate-limit/limiter.ts'
import { checkPolicies, type Policy } from '../rate-limit/policy.ts'

/**
 * The limiters of a route whose policies depend on the request. Equal policies share a limiter, and all
 * of them one store: what a subject has spent is kept there by policy name, so a changed limit finds it.
 */
export class LimiterPool {
  readonly #options: Omit<RateLimiterOptions, 'policy'>
  readonly #limiters = new Map<string, RateLimiter>()

  constructor(options: Omit<RateLimiterOptions, 'policy'>) {
    this.#options = { ...options, store: options.store ?? memoryStore() }
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
    const limiter = createRateLimiter({ ...this.#nextOptions(), policy: policies })
    this.#limiters.set(content, limiter)
    if (this.#limiters.size > MAX_LIMITERS) this.#dropOldest()
    return limiter
  }

  /** The warning of unnamed limiters counts routes by their store: one route's later limiters bring a copy. */
  #nextOptions(): Omit<RateLimiterOptions, 'policy'> {
    const { store } = this.#options
    if (this.#limiters.size === 0 || !store) return this.#options
    return { ...this.#options, store: { ...store, close: () => store.close() } }
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
