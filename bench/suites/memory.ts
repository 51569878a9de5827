import { rate } from '../harness.ts'
import { compare } from '../rows.ts'
import { inProcess, type Suite } from './suite.ts'

const base = 'rate-limiter-flexible'
const ours = 'Sluice, fixed window'

export const memory: Suite = {
  name: 'memory',
  conditions: 'library, memory store, one caller, 100,000 subjects; the same algorithm as the peer',
  run: async (bench) => {
    const results = await inProcess(
      bench,
      [
        { name: base, entry: 'library/flexible-memory.ts', refuses: 'beyond the limit' },
        {
          name: ours,
          entry: 'library/sluice-memory.ts',
          refuses: 'beyond the limit',
          settings: { algorithm: 'fixed' },
        },
        {
          name: 'Sluice, sliding window',
          entry: 'library/sluice-memory.ts',
          refuses: 'beyond the limit',
        },
      ],
      { callers: 1, subjects: 100_000, timed: false },
    )
    return {
      results,
      rows: [
        compare(results, {
          base,
          ours,
          measure: 'memory store, against rate-limiter-flexible: operations/s',
          target: { atLeast: 1 },
          pick: rate,
        }),
      ],
    }
  },
}
