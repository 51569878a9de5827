import {
  type Description,
  type HttpPlan,
  httpContender,
  type LibraryPlan,
  libraryContender,
} from '../contender.ts'
import { interleave, type Plan, type Results } from '../harness.ts'
import { startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Row } from '../rows.ts'
import type { Settings } from '../settings.ts'

export interface Suite {
  readonly name: string
  /** What is loaded, and how, for the reader of the numbers. */
  readonly conditions: string
  run(bench: Bench): Promise<Report>
}

export interface Bench {
  readonly redis: RedisServer
  readonly plan: Plan
}

export interface Report {
  readonly rows: readonly Row[]
  /** Absent where nothing is timed. */
  readonly results?: Results
}

/** A window longer than the run, and a limit that no subject reaches in the rounds but the check does. */
export function settingsOf({ redis, plan }: Bench, changes: Partial<Settings> = {}): Settings {
  return {
    redisPort: redis.port,
    limit: plan.limit,
    windowMs: 3_600_000,
    algorithm: 'sliding',
    ...changes,
  }
}

export async function overHttp(
  bench: Bench,
  contenders: readonly Description[],
  plan: Pick<HttpPlan, 'connections' | 'subjects'> & { readonly limit?: number },
): Promise<Results> {
  await bench.redis.control.flushall()
  const { limit = bench.plan.limit, ...load } = plan
  const settings = settingsOf(bench, { limit })
  const generator = await startChild('http-apps/load-generator.ts', settings)
  const shared = { ...load, redis: bench.redis, generator, settings }
  try {
    return await interleave(
      new Map(contenders.map((one) => [one.name, () => httpContender(shared, one)])),
      bench.plan,
    )
  } finally {
    await generator.close()
  }
}

export async function inProcess(
  bench: Bench,
  contenders: readonly Description[],
  plan: Pick<LibraryPlan, 'callers' | 'subjects' | 'timed'>,
): Promise<Results> {
  await bench.redis.control.flushall()
  const shared = { ...plan, redis: bench.redis, settings: settingsOf(bench) }
  return interleave(
    new Map(contenders.map((one) => [one.name, () => libraryContender(shared, one)])),
    bench.plan,
  )
}
