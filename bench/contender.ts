import type { AddressInfo } from 'node:net'
import type { Contender, Sample } from './harness.ts'
import type { Answers, Load } from './http-apps/load-generator.ts'
import type { Done, Work } from './library/loop.ts'
import { type Child, startChild } from './process/child.ts'
import type { RedisServer } from './redis.ts'
import type { Settings } from './settings.ts'

export interface Description {
  readonly name: string
  /** The child's file below bench/. */
  readonly entry: string
  /** What differs from the suite's settings. */
  readonly settings?: Partial<Settings>
  /** `nothing`: a floor, which never refuses. `all`: every measured request is over the limit. */
  readonly refuses: 'nothing' | 'beyond the limit' | 'all'
}

type Measured = Omit<Sample, 'redisCpuMs'>

export interface HttpPlan {
  readonly redis: RedisServer
  readonly generator: Child
  readonly settings: Settings
  readonly connections: number
  readonly subjects: number
}

/** An application in one process, loaded by the generator in another. */
export async function httpContender(plan: HttpPlan, described: Description): Promise<Contender> {
  const settings = { ...plan.settings, ...described.settings }
  const child = await startChild(described.entry, settings)
  const { port } = await child.call<AddressInfo>('address')
  const { connections, subjects } = plan
  const load = (part: Partial<Load>) =>
    plan.generator.call<Answers>('run', { port, connections, subjects, ...part })
  return {
    ...common(described, child),
    prepare: async (atMost) => {
      await load({ amount: Math.max(connections, Math.min(subjects, atMost)) })
    },
    round: (durationMs) => metered(plan.redis, () => load({ durationMs })),
    check: () => check(described, settings, (amount) => load({ amount, subjects: 1 })),
  }
}

export interface LibraryPlan {
  readonly redis: RedisServer
  readonly settings: Settings
  readonly callers: number
  readonly subjects: number
  readonly timed: boolean
}

/** A loop in a process of its own. */
export async function libraryContender(
  plan: LibraryPlan,
  described: Description,
): Promise<Contender> {
  const settings = { ...plan.settings, ...described.settings }
  const child = await startChild(described.entry, settings)
  const { callers, subjects, timed } = plan
  const work = (part: Partial<Work>) =>
    child.call<Done>('run', { callers, subjects, timed, ...part })
  return {
    ...common(described, child),
    prepare: async (atMost) => {
      await work({ operations: Math.min(subjects, atMost), callers: 64 })
    },
    round: (durationMs) => metered(plan.redis, () => work({ durationMs })),
    check: () =>
      check(described, settings, (operations) => work({ operations, callers: 64, subjects: 1 })),
  }
}

function common({ name, refuses }: Description, child: Child) {
  const expect = refuses === 'all' ? 'refused' : 'accepted'
  return { name, expect, close: () => child.close() } as const
}

async function metered(redis: RedisServer, run: () => Promise<Measured>): Promise<Sample> {
  const before = await redis.cpuMs()
  const measured = await run()
  return { ...measured, redisCpuMs: (await redis.cpuMs()) - before }
}

/**
 * Sends one subject half as much again as its limit. What the rounds spent of it counts too, so fewer than the limit
 * may pass, never more; the one in a hundred above is koa-ratelimit's, which forgets one of two calls of a microsecond.
 */
async function check(
  { refuses }: Description,
  { limit }: Settings,
  ask: (amount: number) => Promise<Measured>,
): Promise<string | undefined> {
  if (refuses !== 'beyond the limit') return undefined
  const { accepted, refused, failed } = await ask(Math.ceil(limit * 1.5))
  if (failed === 0 && refused > 0 && accepted > 0 && accepted <= limit * 1.01) return undefined
  return `does not limit: of a limit of ${limit}, ${accepted} accepted, ${refused} refused, ${failed} failed`
}
