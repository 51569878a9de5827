import { emit } from '../events.ts'
import { type Decision, decide } from './decision.ts'
import { giveBack, type Refund, spentBy } from './give-back.ts'
import type { OnStoreFailure, RateLimiter } from './limiter.ts'
import { MemoryRateLimitStore } from './memory-store.ts'
import { type Policy, share } from './policy.ts'
import type { Answer, Quota, Standing } from './store.ts'

/** Decides while the store cannot; made once for each limiter. */
export type Degradation = (key: string, cost: number) => Answer<Decision>

export function degradation(
  mode: OnStoreFailure,
  quota: Quota,
  instances: number,
  store: MemoryRateLimitStore = localStore(),
): Degradation {
  const { policies } = quota
  if (mode === 'open') return always(decide(policies, policies.map(untouched), 'open'))
  if (mode === 'closed') return always(decide(policies, policies.map(shut), 'closed'))
  const local = localQuota(quota, instances, store)
  return mode === 'local' ? local : delegation(mode, local)
}

function always(decision: Decision): Degradation {
  return () => decision
}

/** What `'local'` counts in; several limiters of one quota need the same. */
export function localStore(): MemoryRateLimitStore {
  return new MemoryRateLimitStore({ maxKeys: LOCAL_KEYS, now: () => performance.now() })
}

/** The same policies in this process, which gets its part of each. */
function localQuota(
  { name, policies }: Quota,
  instances: number,
  store: MemoryRateLimitStore,
): Degradation {
  const quota: Quota = { name, policies: policies.map((policy) => share(policy, instances)) }
  const refund: Refund = (key, cost) => store.refund(quota, key, cost)
  return (key, cost) =>
    spentBy(decide(quota.policies, store.consume(quota, key, cost), 'local'), refund)
}

/** A limiter of the application's; when it fails too, in whatever way, the process decides by itself. */
function delegation(limiter: RateLimiter, local: Degradation): Degradation {
  return async (key, cost) => {
    try {
      const decision = await limiter.consume(key, { cost })
      if (decision.source !== 'store' && decision.source !== 'cache') return decision
      return spentBy({ ...decision, source: 'local' }, (subject, units) =>
        giveBack(limiter, decision, subject, units),
      )
    } catch (error) {
      emit('sluice:store', () => ({ type: 'failure', operation: 'rate-limit.fallback', error }))
      return local(key, cost)
    }
  }
}

function untouched(policy: Policy): Standing {
  return {
    allowed: true,
    remaining: policy.limit,
    retryAfterMs: 0,
    resetMs: 0,
    nextMs: 0,
    delayMs: 0,
  }
}

function shut(): Standing {
  return {
    allowed: false,
    remaining: 0,
    retryAfterMs: CLOSED_RETRY_MS,
    resetMs: CLOSED_RETRY_MS,
    nextMs: CLOSED_RETRY_MS,
    delayMs: 0,
  }
}

const LOCAL_KEYS = 100_000
/** The circuit asks again several times a second, so a retry after a second meets the store as soon as it is back. */
const CLOSED_RETRY_MS = 1000
