import {
  type TaskContender,
  type TaskPlan,
  type TaskSample,
  taskContender,
} from '../delay/contender.ts'
import { interleave, type Plan, type Results, rate } from '../harness.ts'
import { compare } from '../rows.ts'
import { type Bench, inProcess, type Suite, settingsOf } from './suite.ts'

const base = 'BullMQ'
const ours = 'Sluice'

export const taskPackages: readonly TaskContender[] = [
  { name: base, entry: 'delay/bullmq.ts' },
  { name: ours, entry: 'delay/sluice.ts' },
  { name: 'sorted set', entry: 'delay/sorted-set.ts' },
]

const delaySchedule: Suite = {
  name: 'delay-schedule',
  conditions:
    'delayed tasks, Redis, scheduled one by one by 50 callers of one process, each after its answer; 75 bytes of payload, an id of the order, due in an hour',
  run: async (bench) => {
    const results = await inProcess(
      bench,
      taskPackages.map((one) => ({ ...one, refuses: 'nothing' as const })),
      { callers: 50, subjects: 1000, timed: true },
    )
    const line = { base, ours, pick: rate, target: { atLeast: 2 } }
    const measure = 'scheduling tasks one by one, 50 in flight, against BullMQ: tasks/s'
    return { results, rows: [compare(results, { ...line, measure })] }
  },
}

const delayRun: Suite = {
  name: 'delay-run',
  conditions:
    'delayed tasks, Redis, one worker of concurrency 50, tasks that are all due when it starts, a handler that does nothing; until the last is acknowledged. The milliseconds are those since a task was due',
  run: async (bench) => {
    const offsetsMs = (roundMs: number) => Array.from({ length: 3 * roundMs }, () => 0)
    const results = await runTasks(bench, { run: 'drain', concurrency: 50, offsetsMs })
    const line = { base, ours, pick: rate, target: { atLeast: 2 } }
    const measure = 'running due tasks, concurrency 50, acknowledged, against BullMQ: tasks/s'
    return { results, rows: [compare(results, { ...line, measure })] }
  },
}

export const delaySuites: readonly Suite[] = [delaySchedule, delayRun]

/** The packages in turn. */
export async function runTasks(
  bench: Bench,
  plan: Pick<TaskPlan, 'run' | 'concurrency' | 'offsetsMs'>,
  changes: Partial<Plan> = {},
): Promise<Results<TaskSample>> {
  await bench.redis.control.flushall()
  const shared = { ...plan, redis: bench.redis, settings: settingsOf(bench) }
  return interleave<TaskSample>(
    new Map(taskPackages.map((one) => [one.name, () => taskContender(shared, one)])),
    { ...bench.plan, ...changes },
  )
}
