import type { TaskSample } from '../delay/contender.ts'
import { type Result, type Results, rate } from '../harness.ts'
import type { Named, Row, Value } from '../rows.ts'
import { median, quantile } from '../statistics.ts'
import { runTasks } from './delay.ts'
import type { Suite } from './suite.ts'

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
      { roundMs: Math.max(1000, bench.plan.roundMs) },
    )
    const others = [...results.values()].flatMap((one) => [
      { name: `${one.name} p50`, value: lateness(one, 0.5) },
      { name: `${one.name} p95`, value: lateness(one, 0.95) },
      { name: `${one.name} max`, value: lateness(one, 1) },
    ])
    const measure = 'lateness with an idle queue: p95'
    return { results, rows: [row(results, { measure, share: 0.95, atMost: 5, others })] }
  },
}

const delayBusy: Suite = {
  name: 'delay-lateness-busy',
  conditions: `delayed tasks, Redis, a worker of concurrency 50 that waits, ${perSecond} tasks due a second: milliseconds from the due time to the handler, all rounds together; the rate beside it is the one that was sustained`,
  run: async (bench) => {
    const { rounds } = bench.plan
    const results = await runTasks(
      bench,
      { run: 'onTime', concurrency: 50, offsetsMs: evenly },
      { rounds: Math.min(5, rounds) },
    )
    const others = [...results.values()].map((one) => ({
      name: `${one.name} at ${sustained(one)} tasks/s`,
      value: lateness(one, 0.99),
    }))
    const measure = `lateness at ${perSecond} due tasks a second: p99`
    const line = row(results, { measure, share: 0.99, atMost: 25, others })
    return { results, rows: [{ ...line, ours: tooSlow(results) ?? line.ours }] }
  },
}

export const delayLateness: readonly Suite[] = [delayIdle, delayBusy]

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

interface Line {
  readonly measure: string
  readonly share: number
  readonly atMost: number
  readonly others: readonly Named[]
}

function row(results: Results<TaskSample>, { measure, share, atMost, others }: Line): Row {
  const own = results.get(ours)
  const rounds = (own?.samples ?? []).map(({ latenessMs }) => quantile(latenessMs, share))
  return {
    measure,
    target: { atMost },
    unit: 'ms',
    ours: own ? lateness(own, share) : 'not measured',
    spread: [quantile(rounds, 0.25), quantile(rounds, 0.75)],
    others,
  }
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

function sustained({ samples }: Result<TaskSample>): number {
  return Math.round(median(samples.map(rate)))
}

/** Where neither we nor a bare loop get that many tasks done, lateness is the machine's. */
function tooSlow(results: Results<TaskSample>): string | undefined {
  const rates = [ours, bare].flatMap((name) => {
    const result = results.get(name)
    return result ? [sustained(result)] : []
  })
  const most = Math.max(...rates)
  return most < 0.95 * perSecond ? `this machine sustains ${most} tasks/s` : undefined
}
