import type { Description } from '../contender.ts'
import { rate } from '../harness.ts'
import { compare } from '../rows.ts'
import { type Bench, inProcess, type Suite } from './suite.ts'

const base = 'one INCR'
const ours = 'Sluice'
const contenders: readonly Description[] = [
  { name: base, entry: 'library/floor.ts', refuses: 'nothing' },
  { name: ours, entry: 'library/sluice.ts', refuses: 'beyond the limit' },
  {
    name: 'Sluice, fixed window',
    entry: 'library/sluice.ts',
    refuses: 'beyond the limit',
    settings: { algorithm: 'fixed' },
  },
  { name: 'rate-limiter-flexible', entry: 'library/flexible.ts', refuses: 'beyond the limit' },
  { name: 'rate-limit-redis', entry: 'library/rate-limit-redis.ts', refuses: 'beyond the limit' },
]

export const callers64: Suite = {
  name: 'library-64',
  conditions: 'library, Redis, 64 callers, 100,000 subjects',
  run: (bench) => against(bench, 64, 'library, 64 callers, against one INCR: operations/s', 1.4),
}

export const oneCaller: Suite = {
  name: 'library-1',
  conditions: 'library, Redis, one caller, 1,000 subjects',
  run: (bench) => against(bench, 1, 'library, one caller, against one INCR: operations/s', 0.85),
}

async function against(bench: Bench, callers: number, measure: string, atLeast: number) {
  const subjects = callers === 1 ? 1000 : 100_000
  const results = await inProcess(bench, contenders, { callers, subjects, timed: true })
  return {
    results,
    rows: [compare(results, { base, ours, measure, target: { atLeast }, pick: rate })],
  }
}
