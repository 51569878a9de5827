import type { Policy } from '@sluice/core'
import { models, type Rate } from './models.ts'

/** A decision, as far as the model knows it. */
export interface ModelDecision {
  readonly allowed: boolean
  readonly delayMs: number
  readonly policies: readonly Verdict[]
}

/** What a decision says of one policy, all of it derived from what the model calls spent. */
interface Verdict {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
  readonly nextMs: number
}

/** One subject under several policies: all are charged, or none. */
export class ModelLimiter {
  readonly #kept = new Map<string, { readonly state: unknown; readonly endsAt: bigint }>()

  consume(policies: readonly Policy[], cost: number, now: number): ModelDecision {
    const counts = policies.map((policy) => this.#count(policy, now))
    const asked = decide(counts, cost)
    if (!asked.allowed) {
      for (const count of counts) this.#look(count)
      return asked
    }
    const charged = counts.map((count) => this.#keep(charge(count, cost)))
    return { ...asked, policies: charged.map((count) => verdict(count, cost, true)) }
  }

  peek(policies: readonly Policy[], cost: number, now: number): ModelDecision {
    const counts = policies.map((policy) => this.#count(policy, now))
    return decide(counts, cost)
  }

  refund(policies: readonly Policy[], cost: number, now: number): void {
    for (const policy of policies) this.#keep(refund(this.#count(policy, now), cost))
  }

  reset(policies: readonly Policy[]): void {
    for (const policy of policies) this.#kept.delete(idOf(policy))
  }

  #count(policy: Policy, now: number): Count {
    const id = idOf(policy)
    const kept = this.#kept.get(id)
    const state = kept && kept.endsAt > now ? kept.state : undefined
    return present({ id, policy, rate: rateOf(policy), now: BigInt(now), state })
  }

  /** What is over by the policy that spent it stays over, whatever the policy becomes. */
  #keep(count: Count): Count {
    const { id, state, policy, rate, now } = count
    const keptMs = policy.algorithm === 'sliding-window' ? 2n * rate.periodMs : resetMs(count)
    this.#kept.set(id, { state, endsAt: now + keptMs })
    return count
  }

  /** A refusal moves nothing, but the policy that refused has taken effect: by it, what is kept lasts, give or take 100 ms. */
  #look(count: Count): void {
    const kept = this.#kept.get(count.id)
    if (!kept || count.state === undefined) return
    const endsAt = count.now + resetMs(count)
    const { state } = count
    this.#kept.set(count.id, endsAt > kept.endsAt + 100n ? { state, endsAt } : { ...kept, state })
  }
}

/** What one policy has counted by now; where nothing is spent there is no state, and what comes begins anew. */
interface Count {
  readonly id: string
  readonly policy: Policy
  readonly rate: Rate
  readonly now: bigint
  readonly state: unknown
}

function present(count: Count): Count {
  const { under } = models[count.policy.algorithm]
  const state = under && count.state ? under(count.state, count.rate, count.now) : count.state
  return spent({ ...count, state }, count.now) > 0n
    ? { ...count, state }
    : { ...count, state: undefined }
}

function charge(count: Count, cost: number): Count {
  const { policy, state, rate, now } = count
  return { ...count, state: models[policy.algorithm].charge(state, rate, now, BigInt(cost)) }
}

function refund(count: Count, cost: number): Count {
  const { policy, state, rate, now } = count
  if (state === undefined) return count
  return { ...count, state: models[policy.algorithm].refund(state, rate, now, BigInt(cost)) }
}

function spent({ policy, rate, state }: Count, at: bigint): bigint {
  return state === undefined ? 0n : models[policy.algorithm].spent(state, rate, at)
}

/** The call in service of a leaky bucket waits for nothing, so it takes no place in the line. */
function available(count: Count, at: bigint): bigint {
  const { limit } = count.rate
  const inService = count.policy.algorithm === 'leaky-bucket' && limit > 0n ? 1n : 0n
  return limit + inService - spent(count, at)
}

function fits(count: Count, cost: bigint, at: bigint): boolean {
  return cost <= count.rate.limit && cost <= available(count, at)
}

function resetMs(count: Count): bigint {
  return waitMs(count.now, (at) => spent(count, at) === 0n)
}

function decide(counts: readonly Count[], cost: number): ModelDecision {
  const fitting = counts.map((count) => fits(count, BigInt(cost), count.now))
  const allowed = !fitting.includes(false)
  const policies = counts.map((count, index) => verdict(count, cost, fitting[index] === true))
  return { allowed, delayMs: allowed ? Math.max(...counts.map(delayMs)) : 0, policies }
}

function delayMs(count: Count): number {
  if (count.policy.algorithm !== 'leaky-bucket') return 0
  return Number(resetMs(count))
}

function verdict(count: Count, cost: number, allowed: boolean): Verdict {
  const { now, rate } = count
  const left = available(count, now)
  const remaining = clamp(left, rate.limit)
  const untilFits = (units: bigint) =>
    units > rate.limit
      ? Number.POSITIVE_INFINITY
      : Number(waitMs(now, (at) => fits(count, units, at)))
  return {
    allowed,
    remaining: Number(remaining),
    retryAfterMs: allowed ? 0 : untilFits(BigInt(cost)),
    resetMs: Number(resetMs(count)),
    nextMs: remaining < rate.limit ? untilFits(remaining + 1n) : 0,
  }
}

/** The least number of milliseconds after which something holds that holds from some moment on. */
function waitMs(now: bigint, holds: (at: bigint) => boolean): bigint {
  let high = 0n
  while (!holds(now + high)) high = 2n * high + 1n
  let low = high / 2n
  while (low < high) {
    const middle = (low + high) / 2n
    if (holds(now + middle)) high = middle
    else low = middle + 1n
  }
  return high
}

function clamp(units: bigint, most: bigint): bigint {
  if (units > most) return most
  return units > 0n ? units : 0n
}

function rateOf({ limit, rate }: Policy): Rate {
  return { limit: BigInt(limit), amount: BigInt(rate.amount), periodMs: BigInt(rate.periodMs) }
}

function idOf({ algorithm, name }: Policy): string {
  return `${algorithm} ${name}`
}
