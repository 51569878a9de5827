import type { TaskSample } from '../delay/contender.ts'
import { type Plan, p99Ms, type Result, type Results, rate } from '../harness.ts'
import { type Measurement, measure, type Row, type Value } from '../rows.ts'
import { median, quantile } from '../statistics.ts'
import { runTasks } from './delay.ts'
import type { Bench, Suite } from './suite.ts'

const ours = 'Sluice'
const bare = 'sorted set'
const perSecond = 5000

const delayIdle: Suite = {
  name: 'delay-lateness-idle',
  conditions:
    'delayed tasks, Redis, a worker that waits, a task every 25 to 75 ms and nothing else on the server: milliseconds from the due time to the handler, all rounds together',
  run: async (bench) => {
    const results = await runTasks(
      bench,
      { run: 'onTime', concurrency: 10, offsetsMs: nowAndThen },
      { ...fewer(bench), roundMs: Math.max(600, bench.plan.roundMs) },
    )
    return { results, rows: [idleRow(results)] }
  },
}

const delayBusy: Suite = {
  name: 'delay-lateness-busy',
  conditions: `delayed tasks, Redis, a worker of concurrency 50 that waits, ${perSecond} tasks due a second: milliseconds from the due time to the handler; the rate beside them is the one that was sustained`,
  run: async (bench) => {
    const results = await runTasks(
      bench,
      { run: 'onTime', concurrency: 50, offsetsMs: evenly },
      fewer(bench),
    )
    const line = measure(results, busyLine)
    const others = line.others.map(({ name, value }) => ({ name: atRate(results, name), value }))
    const own = { name: atRate(results, ours), value: line.ours }
    const row = { ...line, ours: tooSlow(results) ?? line.ours, others: [own, ...others] }
    return { results, rows: [row] }
  },
}

export const delayLateness: readonly Suite[] = [delayIdle, delayBusy]

/** A round takes as long as its tasks are spread over, and as their scheduling before. */
function fewer({ plan }: Bench): Pick<Plan, 'rounds'> {
  return { rounds: Math.min(5, plan.rounds) }
}

/** The same moments for every contender and round. */
function nowAndThen(roundMs: number): readonly number[] {
  const offsetsMs: number[] = []
  for (let at = 0; at < roundMs; at += 25 + ((offsetsMs.length * 37) % 51)) offsetsMs.push(at)
  return offsetsMs
}

function evenly(roundMs: number): readonly number[] {
  return Array.from(
    { length: (roundMs * perSecond) / 1000 },
    (_, task) => (1000 * task) / perSecond,
  )
}

/** Of all rounds together: one round has too few tasks for its own p95. */
function idleRow(results: Results<TaskSample>): Row {
  const own = results.get(ours)
  const rounds = (own?.samples ?? []).map(({ latenessMs }) => quantile(latenessMs, 0.95))
  return {
    measure: 'lateness with an idle queue: p95',
    target: { atMost: 5 },
    unit: 'ms',
    ours: own ? lateness(own, 0.95) : 'not measured',
    spread: [quantile(rounds, 0.25), quantile(rounds, 0.75)],
    others: [...results.values()].flatMap((one) => [
      { name: `${one.name} p50`, value: lateness(one, 0.5) },
      { name: `${one.name} p95`, value: lateness(one, 0.95) },
      { name: `${one.name} max`, value: lateness(one, 1) },
    ]),
  }
}

const busyLine: Measurement<TaskSample> = {
  measure: `lateness at ${perSecond} due tasks a second: p99`,
  target: { atMost: 25 },
  unit: 'ms',
  ours,
  pick: p99Ms,
}

function lateness({ samples, problem }: Result<TaskSample>, share: number): Value {
  return (
    problem ??
    quantile(
      samples.flatMap(({ latenessMs }) => latenessMs),
      share,
    )
  )
}

function atRate(results: Results<TaskSample>, name: string): string {
  return `${name} at ${sustained(results, name)} tasks/s`
}

function sustained(results: Results<TaskSample>, name: string): number {
  return Math.round(median((results.get(name)?.samples ?? []).map(rate)))
}

/** Where neither we nor a bare loop get that many tasks done, lateness is the machine's. */
function tooSlow(results: Results<TaskSample>): string | undefined {
  const most = Math.max(sustained(results, ours), sustained(results, bare))
  return most < 0.95 * perSecond ? `this machine sustains ${most} tasks/s` : undefined
}
