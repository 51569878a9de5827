import type { Policy, RateLimitStore } from '@sluice/core'
import { expect } from 'vitest'
import type { ModelDecision } from './model-limiter.ts'
import { type PolicyNumbers, policyOf, type Step, type Trace } from './traces.ts'

/** Something that decides, in the model's words: the model itself, or a store behind `playerOf`. */
export interface Player {
  consume(policies: readonly Policy[], cost: number, now: number): Awaitable<ModelDecision>
  peek(policies: readonly Policy[], cost: number, now: number): Awaitable<ModelDecision>
  refund(policies: readonly Policy[], cost: number, now: number): Awaitable<void>
  reset(policies: readonly Policy[]): Awaitable<void>
}

type Awaitable<T> = T | Promise<T>

export interface Stage {
  readonly clock: { now: number }
  readonly expected: Player
  readonly actual: Player
  /** What a `change` does to a bucket's rate. The model knows one level, not since when: for it, rates stay. */
  readonly rates?: 'stay' | 'change'
  /** Time goes no further; default the year 3000. */
  readonly endOfTime?: number
  /** After each step. */
  readonly check?: () => Promise<void>
}

/** Plays a trace to two, who must decide alike. */
export async function replay(trace: Trace, stage: Stage): Promise<void> {
  const scene: Scene = { ...stage, numbers: trace.policies, policies: named(trace.policies) }
  for (const [index, step] of trace.steps.entries()) {
    await act(scene, step, `step ${index}`)
    await stage.check?.()
  }
}

/** A store as a player, for one subject. */
export function playerOf(store: RateLimitStore, subject: string): Player {
  const quotas = new WeakMap<readonly Policy[], { name: string; policies: readonly Policy[] }>()
  const quotaOf = (policies: readonly Policy[]) => {
    const quota = quotas.get(policies) ?? { name: 'traced', policies }
    quotas.set(policies, quota)
    return quota
  }
  const ask = async (how: 'consume' | 'peek', policies: readonly Policy[], cost: number) => {
    const standings = await store[how](quotaOf(policies), subject, cost)
    return {
      allowed: standings.every(({ allowed }) => allowed),
      delayMs: Math.max(...standings.map(({ delayMs }) => delayMs)),
      policies: standings.map(({ delayMs: _, ...verdict }) => verdict),
    }
  }
  return {
    consume: (policies, cost) => ask('consume', policies, cost),
    peek: (policies, cost) => ask('peek', policies, cost),
    refund: (policies, cost) => store.refund(quotaOf(policies), subject, cost),
    reset: (policies) => store.reset(quotaOf(policies), subject),
  }
}

interface Scene extends Stage {
  numbers: readonly PolicyNumbers[]
  policies: readonly Policy[]
  last?: ModelDecision
}

async function act(scene: Scene, step: Step, label: string): Promise<void> {
  const { expected, actual, clock, policies } = scene
  switch (step.do) {
    case 'advance':
      clock.now += passing(step, scene)
      return
    case 'await':
      clock.now += passing(step, scene)
      return act(scene, { do: 'consume', percent: 0, units: step.units }, label)
    case 'change':
      scene.numbers = scene.numbers.map((numbers) => changed(numbers, step, scene.rates))
      scene.policies = named(scene.numbers)
      return
    case 'reset':
      await expected.reset(policies)
      await actual.reset(policies)
      return
  }
  const cost = costOf(step, policies)
  if (step.do === 'refund') {
    await expected.refund(policies, cost, clock.now)
    await actual.refund(policies, cost, clock.now)
  } else {
    scene.last = await expected[step.do](policies, cost, clock.now)
    const decision = await actual[step.do](policies, cost, clock.now)
    expect(rounded(decision, scene.last), `${label}: ${step.do} ${cost} at ${clock.now}`).toEqual(
      scene.last,
    )
  }
}

/** No double counts more than 285,000 years in milliseconds: there, what is nearly the same is the same. */
function rounded(decision: ModelDecision, expected: ModelDecision): ModelDecision {
  const near = (ms: number, other: number) =>
    ms > Number.MAX_SAFE_INTEGER && Math.abs(ms / other - 1) < 1e-12 ? other : ms
  return {
    ...decision,
    delayMs: near(decision.delayMs, expected.delayMs),
    policies: decision.policies.map((verdict, index) => {
      const { retryAfterMs = 0, resetMs = 0, nextMs = 0 } = expected.policies[index] ?? {}
      return {
        ...verdict,
        retryAfterMs: near(verdict.retryAfterMs, retryAfterMs),
        resetMs: near(verdict.resetMs, resetMs),
        nextMs: near(verdict.nextMs, nextMs),
      }
    }),
  }
}

function named(numbers: readonly PolicyNumbers[]): readonly Policy[] {
  return numbers.map((some, index) => policyOf(some, `p${index}`))
}

function changed(
  numbers: PolicyNumbers,
  { limit, amount, windowMs }: Omit<PolicyNumbers, 'algorithm'>,
  rates: 'stay' | 'change' = 'stay',
): PolicyNumbers {
  const isBucket = numbers.algorithm === 'token-bucket' || numbers.algorithm === 'leaky-bucket'
  if (isBucket && rates === 'stay') return { ...numbers, limit }
  return { ...numbers, limit, amount, windowMs }
}

function costOf(step: { percent: number; units: number }, [policy]: readonly Policy[]): number {
  const share = Math.floor(((policy?.limit ?? 0) * step.percent) / 100)
  return Math.max(1, share + step.units)
}

/** What would lead past the end of time does not happen. */
function passing(
  step: Extract<Step, { do: 'advance' | 'await' }>,
  { policies, last, clock, endOfTime = YEAR_3000 }: Scene,
): number {
  const ms =
    step.do === 'advance'
      ? Math.floor(((policies[0]?.windowMs ?? 0) * step.percent) / 100) + step.ms
      : Math.max(0, ...(last?.policies ?? []).map((verdict) => verdict[step.what])) - step.early
  return ms > 0 && clock.now + ms < endOfTime ? ms : 0
}

const YEAR_3000 = Date.UTC(3000, 0)
