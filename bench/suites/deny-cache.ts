import { rate } from '../harness.ts'
import { compare } from '../rows.ts'
import { overHttp, type Suite } from './suite.ts'

const base = 'no limiter'
const ours = 'Sluice'

export const denyCache: Suite = {
  name: 'deny-cache',
  conditions: 'Koa, Redis, 32 connections, one subject over its limit: 429 for every request',
  run: async (bench) => {
    const results = await overHttp(
      bench,
      [
        { name: base, entry: 'http-apps/koa-bare.ts', refuses: 'nothing' },
        { name: ours, entry: 'http-apps/koa-sluice.ts', refuses: 'all' },
        { name: 'rate-limiter-flexible', entry: 'http-apps/koa-flexible.ts', refuses: 'all' },
        { name: 'koa-ratelimit', entry: 'http-apps/koa-ratelimit.ts', refuses: 'all' },
      ],
      { connections: 32, subjects: 1, limit: 1 },
    )
    return {
      results,
      rows: [
        compare(results, {
          base,
          ours,
          measure: 'refused requests of one key, Koa, against no limiter: requests/s',
          target: { atLeast: 0.9 },
          pick: rate,
          baseIsFastest: true,
        }),
      ],
    }
  },
}
