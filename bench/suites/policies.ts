import { rate } from '../harness.ts'
import { compare } from '../rows.ts'
import { inProcess, type Suite } from './suite.ts'

const flexible = ['rate-limiter-flexible', 'rate-limiter-flexible, union of four'] as const
const sluice = ['Sluice', 'Sluice, four policies'] as const

export const policies: Suite = {
  name: 'policies',
  conditions:
    'library, Redis, 64 callers, 1,000 subjects; token bucket, sliding window and two fixed windows against one sliding window',
  run: async (bench) => {
    const results = await inProcess(
      bench,
      [
        { name: sluice[0], entry: 'library/sluice.ts', refuses: 'beyond the limit' },
        {
          name: sluice[1],
          entry: 'library/sluice.ts',
          refuses: 'beyond the limit',
          settings: { algorithm: 'four' },
        },
        { name: flexible[0], entry: 'library/flexible.ts', refuses: 'beyond the limit' },
        { name: flexible[1], entry: 'library/flexible-four.ts', refuses: 'beyond the limit' },
      ],
      { callers: 64, subjects: 1000, timed: true },
    )
    const measured = {
      measure: 'four policies at once, against one: operations/s',
      pick: rate,
    }
    const target = { atLeast: 0.8 }
    const [base, ours] = sluice
    const own = compare(results, { ...measured, target, base, ours })
    const peer = compare(results, { ...measured, target, base: flexible[0], ours: flexible[1] })
    return { results, rows: [{ ...own, others: [{ name: flexible[1], value: peer.ours }] }] }
  },
}
