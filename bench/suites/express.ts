import { rate } from '../harness.ts'
import { compare } from '../rows.ts'
import { overHttp, type Suite } from './suite.ts'

const base = 'express-rate-limit + rate-limit-redis'
const ours = 'Sluice'

export const express: Suite = {
  name: 'express',
  conditions: 'Express 5, Redis, 32 connections, 1,000 subjects',
  run: async (bench) => {
    const results = await overHttp(
      bench,
      [
        { name: base, entry: 'http-apps/express-rate-limit.ts', refuses: 'beyond the limit' },
        { name: ours, entry: 'http-apps/express-sluice.ts', refuses: 'beyond the limit' },
        { name: 'one INCR', entry: 'http-apps/express-floor.ts', refuses: 'nothing' },
        { name: 'no limiter', entry: 'http-apps/express-bare.ts', refuses: 'nothing' },
      ],
      { connections: 32, subjects: 1000 },
    )
    return {
      results,
      rows: [
        compare(results, {
          base,
          ours,
          measure: 'Express + Redis, against express-rate-limit: requests/s',
          target: { atLeast: 1.15 },
          pick: rate,
        }),
      ],
    }
  },
}
