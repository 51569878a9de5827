import { p99Ms, rate, redisCpuUs } from '../harness.ts'
import { compare } from '../rows.ts'
import { overHttp, type Suite } from './suite.ts'

const base = 'one INCR'
const ours = 'Sluice'

export const koa: Suite = {
  name: 'koa',
  conditions: 'Koa, Redis, 32 connections, 1,000 subjects; Sluice with its default policy',
  run: async (bench) => {
    const results = await overHttp(
      bench,
      [
        { name: base, entry: 'http-apps/koa-floor.ts', refuses: 'nothing' },
        { name: ours, entry: 'http-apps/koa-sluice.ts', refuses: 'beyond the limit' },
        {
          name: 'Sluice, fixed window',
          entry: 'http-apps/koa-sluice.ts',
          refuses: 'beyond the limit',
          settings: { algorithm: 'fixed' },
        },
        {
          name: 'rate-limiter-flexible',
          entry: 'http-apps/koa-flexible.ts',
          refuses: 'beyond the limit',
        },
        { name: 'koa-ratelimit', entry: 'http-apps/koa-ratelimit.ts', refuses: 'beyond the limit' },
      ],
      { connections: 32, subjects: 1000 },
    )
    const against = { base, ours }
    return {
      results,
      rows: [
        compare(results, {
          ...against,
          measure: 'Koa + Redis, against one INCR: requests/s',
          target: { atLeast: 1 },
          pick: rate,
        }),
        compare(results, {
          ...against,
          measure: 'the same: Redis CPU a decision',
          target: { atMost: 0.6 },
          pick: redisCpuUs,
        }),
        compare(results, {
          ...against,
          measure: 'the same: p99',
          target: { atMost: 1.5 },
          pick: p99Ms,
        }),
      ],
    }
  },
}
