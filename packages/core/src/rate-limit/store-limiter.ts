import { ConfigurationError } from '../errors.ts'
import { memoryStore } from '../memory-store.ts'
import { checkOptions, integer } from '../options.ts'
import { StoreGuard } from '../resilience/guard.ts'
import { type Decision, decide } from './decision.ts'
import { type Degradation, degradation } from './degradation.ts'
import { DenyCache } from './deny-cache.ts'
import { keptKey } from './kept-key.ts'
import type { ConsumeOptions, RateLimiter, ResolvedLimiterOptions } from './limiter.ts'
import type { MemoryRateLimitStore } from './memory-store.ts'
import type { Policy } from './policy.ts'
import type { Quota, RateLimitStore } from './store.ts'

/** A limiter over any store: what is remote is asked through the guard, remembers refusals, and degrades. */
export class StoreLimiter implements RateLimiter {
  readonly name: string
  readonly policies: readonly Policy[]
  readonly #quota: Quota
  readonly #store: RateLimitStore
  readonly #guard: StoreGuard
  readonly #denied: DenyCache
  readonly #degraded: Degradation

  /** `local` is what it counts in without its store, where that is shared with others of its quota. */
  constructor(
    policies: readonly Policy[],
    options: ResolvedLimiterOptions,
    local?: MemoryRateLimitStore,
  ) {
    const store = options.store ?? memoryStore()
    this.name = options.name
    this.policies = policies
    this.#quota = { name: options.name, policies }
    this.#store = store.rateLimit
    this.#guard = new StoreGuard(options.timeoutMs, store.circuit)
    this.#denied = new DenyCache(options.denyCacheMs)
    this.#degraded = degradation(options.onStoreFailure, this.#quota, options.instances, local)
  }

  async consume(key: string, options: ConsumeOptions = noOptions): Promise<Decision> {
    if (!isPlain(options)) checkOptions('consume', options, consumeRules)
    const { cost = 1, signal } = options
    check('consume', key, cost)
    signal?.throwIfAborted()
    if (this.#store.remote) return this.#consumeRemote(key, cost, signal)
    const standings = this.#store.consume(this.#quota, key, cost)
    return decide(this.policies, Array.isArray(standings) ? standings : await standings, 'store')
  }

  async peek(
    key: string,
    options: { readonly cost?: number | undefined } = noOptions,
  ): Promise<Decision> {
    checkOptions('peek', options, peekRules)
    const { cost = 1 } = options
    check('peek', key, cost)
    const standings = await this.#ask('peek', () => this.#store.peek(this.#quota, key, cost))
    return decide(this.policies, standings, 'store')
  }

  async refund(key: string, cost: number): Promise<void> {
    check('refund', key, cost)
    await this.#changing(key, 'refund', () => this.#store.refund(this.#quota, key, cost))
  }

  async reset(key: string): Promise<void> {
    check('reset', key, 1)
    await this.#changing(key, 'reset', () => this.#store.reset(this.#quota, key))
  }

  #consumeRemote(
    key: string,
    cost: number,
    signal: AbortSignal | undefined,
  ): Decision | Promise<Decision> {
    const kept = keptKey(key)
    const known = this.#denied.get(kept, cost)
    if (known) return decide(this.policies, known, 'cache')
    const mark = this.#denied.mark(kept)
    const ask = () => this.#store.consume(this.#quota, key, cost)
    return this.#guard.call('rate-limit.consume', ask, signal).then(
      (standings) => {
        const decision = decide(this.policies, standings, 'store')
        if (!decision.allowed) this.#denied.set(kept, cost, standings, mark)
        return decision
      },
      () => {
        if (signal?.aborted) throw signal.reason
        return this.#degraded(key, cost)
      },
    )
  }

  /** What makes room must not be hidden by a refusal remembered before, during or after it. */
  async #changing(key: string, operation: string, ask: () => Promise<void>): Promise<void> {
    const kept = keptKey(key)
    this.#denied.clear(kept)
    try {
      await this.#ask(operation, ask)
    } finally {
      this.#denied.clear(kept)
    }
  }

  #ask<T>(operation: string, ask: () => Promise<T>): Promise<T> {
    return this.#store.remote ? this.#guard.call(`rate-limit.${operation}`, ask) : ask()
  }
}

const noOptions: ConsumeOptions = {}

/** Whether a call has no option but its own: on every request's way, so the full check is for what fails this one. */
function isPlain(options: ConsumeOptions): boolean {
  if (typeof options !== 'object' || options === null) return false
  for (const name in options) if (name !== 'cost' && name !== 'signal') return false
  return options.signal === undefined
}

const peekRules = { cost: integer(1, Number.MAX_SAFE_INTEGER) }
const consumeRules = {
  ...peekRules,
  signal: {
    expected: 'an AbortSignal',
    accepts: (value: unknown) => value instanceof AbortSignal,
  },
}

/** Checked before anything is sent, so that a wrong call charges nothing. */
function check(owner: string, key: unknown, cost: unknown): void {
  if (typeof key !== 'string' || key === '')
    throw new ConfigurationError(owner, 'key', key, 'a non-empty string')
  if (!Number.isSafeInteger(cost) || Number(cost) < 1)
    throw new ConfigurationError(owner, 'cost', cost, 'an integer of at least 1')
}
