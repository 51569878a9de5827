import type { Contender, Sample } from '../harness.ts'
import { type Child, startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Settings } from '../settings.ts'
import { quantile } from '../statistics.ts'
import type { Contended, Contention } from './contend.ts'

export interface LockContender {
  readonly name: string
  /** The child's file below bench/. */
  readonly entry: string
}

export interface LockPlan {
  readonly redis: RedisServer
  readonly settings: Settings
  readonly processes: number
  /** Of each process. */
  readonly callers: number
  /** `turns`: callers come again until the time is over. `burst`: all arrive at once, and each comes once. */
  readonly arrive: 'turns' | 'burst'
}

/** How callers of one lock fared. */
export interface LockSample extends Sample {
  /** The most turns of a caller by the least. */
  readonly unevenness: number
  /** Callers that had no turn at all. */
  readonly starved: number
  /** Commands that clients sent, a turn. */
  readonly commands: number
}

export const unevenness = (sample: LockSample): number => sample.unevenness
export const starved = (sample: LockSample): number => sample.starved
export const commands = (sample: LockSample): number => sample.commands
export const p99ByP50 = (sample: LockSample): number => sample.p99Ms / sample.p50Ms

/** One lock under the callers of several processes. */
export async function lockContender(
  plan: LockPlan,
  { name, entry }: LockContender,
): Promise<Contender<LockSample>> {
  const { processes, callers, redis, settings } = plan
  const children: Child[] = []
  while (children.length < processes) children.push(await startChild(entry, settings))
  const key = `lock-of-${name.replace(/\W+/g, '-')}`
  const contend = (part: Partial<Contention>): Promise<Contended[]> => {
    const contention = { key, callers, durationMs: 0, watched: false, ...part }
    return Promise.all(children.map((child) => child.call<Contended>('contend', contention)))
  }
  const bursts = async (durationMs: number): Promise<Contended[]> => {
    const all: Contended[] = []
    const endMs = performance.now() + durationMs
    while (all.length === 0 || performance.now() < endMs) all.push(together(await contend({})))
    return all
  }
  return {
    name,
    expect: 'accepted',
    prepare: async () => void (await contend({})), // loads the scripts
    round: async (durationMs) => {
      const cpuMs = await redis.cpuMs()
      const done =
        plan.arrive === 'burst'
          ? await bursts(durationMs)
          : [together(await contend({ durationMs }))]
      return sample(done, (await redis.cpuMs()) - cpuMs)
    },
    check: async () => {
      const { failed } = together(await contend({ durationMs: 200, watched: true }))
      return failed === 0 ? undefined : `let ${failed} in where somebody was`
    },
    close: async () => {
      for (const child of children) await child.close()
    },
  }
}

/** What processes did in the same time. */
function together(parts: readonly Contended[]): Contended {
  return {
    turns: parts.flatMap(({ turns }) => turns),
    waitsMs: parts.flatMap(({ waitsMs }) => waitsMs),
    failed: sum(parts.map(({ failed }) => failed)),
    elapsedMs: Math.max(...parts.map(({ elapsedMs }) => elapsedMs)),
    commands: sum(parts.map(({ commands }) => commands)),
  }
}

function sample(done: readonly Contended[], redisCpuMs: number): LockSample {
  const turns = done.flatMap((one) => one.turns)
  const waitsMs = done.flatMap((one) => one.waitsMs)
  return {
    accepted: sum(turns),
    refused: 0,
    failed: sum(done.map(({ failed }) => failed)),
    elapsedMs: sum(done.map(({ elapsedMs }) => elapsedMs)),
    p50Ms: quantile(waitsMs, 0.5),
    p99Ms: quantile(waitsMs, 0.99),
    redisCpuMs,
    unevenness: Math.max(...turns) / Math.min(...turns),
    starved: turns.filter((count) => count === 0).length,
    commands: sum(done.map((one) => one.commands)) / waitsMs.length,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
