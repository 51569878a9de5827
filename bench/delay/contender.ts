import type { Contender, Sample } from '../harness.ts'
import { startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Settings } from '../settings.ts'
import { quantile } from '../statistics.ts'
import type { Errand, Ran } from './errands.ts'

export interface TaskContender {
  readonly name: string
  /** The child's file below bench/. */
  readonly entry: string
}

export interface TaskPlan {
  readonly redis: RedisServer
  readonly settings: Settings
  /** `drain`: all tasks are due before the worker starts. `onTime`: the worker waits for each. */
  readonly run: 'drain' | 'onTime'
  readonly concurrency: number
  /** When the tasks of a round of so many milliseconds are due, from the first one on. */
  offsetsMs(roundMs: number): readonly number[]
}

/** How late tasks were run: `p50Ms` and `p99Ms` are of that too, and the elapsed time is from the first due time on. */
export interface TaskSample extends Sample {
  readonly latenessMs: readonly number[]
}

/** One worker in a process of its own, and what that process scheduled before. */
export async function taskContender(
  plan: TaskPlan,
  { name, entry }: TaskContender,
): Promise<Contender<TaskSample>> {
  const child = await startChild(entry, plan.settings)
  let fillMsATask = 0
  /** Scheduling must be over when the first task is due: how long that takes, the tasks before tell. */
  const work = async (offsetsMs: readonly number[]): Promise<Ran> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const leadMs = plan.run === 'onTime' ? LEAD_MS + 1.5 * fillMsATask * offsetsMs.length : 0
      const errand: Errand = { offsetsMs, leadMs, concurrency: plan.concurrency }
      const ran = await child.call<Ran>(plan.run, errand)
      fillMsATask = ran.fillMs / offsetsMs.length
      if (plan.run === 'drain' || ran.fillMs <= leadMs) return ran
    }
    throw new Error(`scheduling ${offsetsMs.length} tasks takes too long`)
  }
  return {
    name,
    expect: 'accepted',
    prepare: async () => {
      await work(Array.from({ length: 200 }, () => 0)) // loads the scripts, too
    },
    round: async (durationMs) => {
      const offsetsMs = plan.offsetsMs(durationMs)
      const cpuMs = await plan.redis.cpuMs()
      const { latenessMs, failed, elapsedMs } = await work(offsetsMs)
      return {
        accepted: offsetsMs.length,
        refused: 0,
        failed,
        elapsedMs,
        p50Ms: quantile(latenessMs, 0.5),
        p99Ms: quantile(latenessMs, 0.99),
        redisCpuMs: (await plan.redis.cpuMs()) - cpuMs,
        latenessMs,
      }
    },
    check: async () => undefined, // each round says how many were not run once
    close: () => child.close(),
  }
}

const LEAD_MS = 100
const ATTEMPTS = 4
