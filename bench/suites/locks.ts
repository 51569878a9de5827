import { interleave, type Plan, type Results, rate } from '../harness.ts'
import {
  commands,
  type LockContender,
  type LockPlan,
  type LockSample,
  lockContender,
  p99ByP50,
  starved,
  unevenness,
} from '../locks/contender.ts'
import { compare, measure, type Row } from '../rows.ts'
import { type Bench, inProcess, type Suite, settingsOf } from './suite.ts'

const base = 'bare hand-over'
const ours = 'Sluice'

export const lockPackages: readonly LockContender[] = [
  { name: ours, entry: 'locks/sluice.ts' },
  { name: 'redlock', entry: 'locks/redlock.ts' },
  { name: '@sesamecare-oss/redlock', entry: 'locks/sesamecare-redlock.ts' },
  { name: 'redis-semaphore', entry: 'locks/redis-semaphore.ts' },
  { name: 'redlock-universal', entry: 'locks/redlock-universal.ts' },
]

const contenders = [{ name: base, entry: 'locks/hand-over.ts' }, ...lockPackages]

const lockTurns: Suite = {
  name: 'lock-turns',
  conditions:
    'one lock, Redis, 64 callers in 4 processes that come again and again, 1 ms of work each; packages with the pauses of their defaults; commands as clients send them',
  run: async (bench) => {
    // Of a second each caller has its turn but a few times, too few to be told apart from luck.
    const results = await contended(bench, { arrive: 'turns' }, { roundFactor: 2 })
    return { results, rows: turnRows(results) }
  },
}

const lockBurst: Suite = {
  name: 'lock-burst',
  conditions:
    'one lock, Redis, 64 callers in 4 processes that arrive at once, 1 ms of work each; then again',
  run: async (bench) => {
    const results = await contended(bench, { arrive: 'burst' }, { roundFactor: 1 })
    const line = { base, ours, pick: rate, target: { atLeast: 1 } }
    const text = '64 callers of a lock that arrive at once, against a bare hand-over: holds/s'
    return { results, rows: [compare(results, { ...line, measure: text })] }
  },
}

const bareCommands = 'SET NX PX and compare-and-delete'

const lockUncontended: Suite = {
  name: 'lock-uncontended',
  conditions: 'library, Redis, one caller, 1,000 locks one after the other: acquire and release',
  run: async (bench) => {
    const all = [{ name: bareCommands, entry: 'locks/set-nx.ts' }, ...lockPackages]
    const results = await inProcess(
      bench,
      all.map((one) => ({ ...one, refuses: 'nothing' as const })),
      { callers: 1, subjects: 1000, timed: true },
    )
    const line = { base: bareCommands, ours, pick: rate, target: { atLeast: 0.9 } }
    const text = `uncontended acquire and release, against ${bareCommands}: operations/s`
    return { results, rows: [compare(results, { ...line, measure: text, baseIsFastest: true })] }
  },
}

export const lockSuites: readonly Suite[] = [lockTurns, lockBurst, lockUncontended]

async function contended(
  bench: Bench,
  plan: Pick<LockPlan, 'arrive'>,
  { roundFactor }: { readonly roundFactor: number },
): Promise<Results<LockSample>> {
  await bench.redis.control.flushall()
  const { redis } = bench
  const shared = { ...plan, redis, settings: settingsOf(bench), processes: 4, callers: 16 }
  const roundMs = roundFactor * bench.plan.roundMs
  return interleave<LockSample>(
    new Map(contenders.map((one) => [one.name, () => lockContender(shared, one)])),
    { ...bench.plan, roundMs } satisfies Plan,
  )
}

function turnRows(results: Results<LockSample>): Row[] {
  return [
    compare(results, {
      base,
      ours,
      measure: '64 callers of one lock, against a bare hand-over: holds/s',
      target: { atLeast: 1 },
      pick: rate,
    }),
    measure(results, {
      ours,
      measure: 'the same: callers without a turn',
      target: { exactly: 0 },
      unit: 'waiters',
      pick: starved,
    }),
    measure(results, {
      ours,
      measure: 'the same: turns of the most-served caller by those of the least-served',
      target: { atMost: 1.5 },
      unit: 'times',
      pick: unevenness,
    }),
    measure(results, {
      ours,
      measure: 'the same: p99 of the wait by its p50',
      target: { atMost: 1.5 },
      unit: 'times',
      pick: p99ByP50,
    }),
    measure(results, {
      ours,
      measure: 'the same: commands sent a hold',
      target: { atMost: 3 },
      unit: 'commands',
      pick: commands,
    }),
  ]
}
