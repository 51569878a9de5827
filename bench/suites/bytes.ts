import { setTimeout as pause } from 'node:timers/promises'
import type { Done } from '../library/loop.ts'
import { type Child, startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Named, Row, Value } from '../rows.ts'
import type { Algorithm, Settings } from '../settings.ts'
import { askKoaRatelimit } from './bytes-koa-ratelimit.ts'
import { type Bench, type Suite, settingsOf } from './suite.ts'

const subjects = 100
const calls = 37 // a subject: a state in use, not one at its first call
const log = { limit: 1000, windowMs: 2000 } as const

export const bytes: Suite = {
  name: 'bytes',
  conditions: `MEMORY USAGE of all keys of ${subjects} subjects after ${calls} calls each, less that of plain counters with a TTL under the same key names; of a full sliding log, the most seen while it rolls on`,
  run: async (bench) => ({ rows: [await perSubject(bench), await perLoggedRequest(bench)] }),
}

async function perSubject(bench: Bench): Promise<Row> {
  const of = (name: string, entry: string, algorithm: Algorithm) =>
    named(name, () => withChild(bench, entry, { algorithm }, (child) => spent(bench, child)))
  const own = [
    await of('fixed', 'library/sluice.ts', 'fixed'),
    await named('sliding', () => slidingOverTwoWindows(bench)),
    await of('token', 'library/sluice.ts', 'token'),
    await of('leaky', 'library/sluice.ts', 'leaky'),
  ]
  const peers = [
    await of('rate-limiter-flexible', 'library/flexible.ts', 'fixed'),
    await of('rate-limit-redis', 'library/rate-limit-redis.ts', 'fixed'),
    await named(`koa-ratelimit, ${calls} requests`, async () => {
      await bench.redis.control.flushall()
      await askKoaRatelimit(bench, { subjects, amount: subjects * calls })
      return aboveCounters(bench.redis)
    }),
  ]
  return {
    measure: 'Redis bytes a subject, above a plain counter with TTL',
    target: { atMost: 16 },
    unit: 'bytes',
    ours: worst(own),
    others: [...own, ...peers],
  }
}

async function spent({ redis }: Bench, child: Child): Promise<number> {
  await child.call('run', { callers: 16, subjects, operations: subjects * calls, timed: false })
  return aboveCounters(redis)
}

/** The state is largest when the window before counts too. */
async function slidingOverTwoWindows(bench: Bench): Promise<number> {
  const changes = { algorithm: 'sliding', windowMs: 2000 } as const
  return withChild(bench, 'library/sluice.ts', changes, async (child) => {
    const first = await spent(bench, child)
    await child.call('run', { callers: 16, subjects, operations: subjects * calls, timed: false })
    await pause(changes.windowMs)
    return Math.max(first, await spent(bench, child))
  })
}

async function perLoggedRequest(bench: Bench): Promise<Row> {
  const ours = await named('Sluice', () =>
    withChild(bench, 'library/sluice.ts', { algorithm: 'log', ...log }, (child) =>
      fullLog(bench.redis, child),
    ),
  )
  const peer = await named('koa-ratelimit', async () => {
    await bench.redis.control.flushall()
    await askKoaRatelimit(bench, { subjects: 1, amount: log.limit })
    return (await total(bench.redis, await keys(bench.redis))) / log.limit
  })
  return {
    measure: 'sliding log, 1,000 requests: Redis bytes a request',
    target: { atMost: 12 },
    unit: 'bytes',
    ours: ours.value,
    others: [peer],
  }
}

/** Asks faster than the log allows, for two windows and more: old entries go while new ones come. */
async function fullLog(redis: RedisServer, child: Child): Promise<number> {
  const four = { callers: 1, subjects: 1, operations: 4, timed: false }
  const started = performance.now()
  let refused = 0
  let most = 0
  for (let call = 0; performance.now() - started < 2.5 * log.windowMs; call += 1) {
    refused += (await child.call<Done>('run', four)).refused
    if (call % 50 === 0) most = Math.max(most, await total(redis, await keys(redis)))
    await pause(1)
  }
  if (refused === 0) throw new Error('the log was never full')
  return most / log.limit
}

async function aboveCounters(redis: RedisServer): Promise<number> {
  const names = await keys(redis)
  if (names.length !== subjects) throw new Error(`${names.length} keys for ${subjects} subjects`)
  const own = await total(redis, names)
  for (const name of names) await redis.control.set(name, calls, 'PX', 60_000)
  return (own - (await total(redis, names))) / subjects
}

function keys({ control }: RedisServer): Promise<string[]> {
  return control.keys('*')
}

async function total({ control }: RedisServer, names: readonly string[]): Promise<number> {
  let sum = 0
  for (const name of names) sum += (await control.memory('USAGE', name, 'SAMPLES', 0)) ?? 0
  return sum
}

async function withChild<T>(
  bench: Bench,
  entry: string,
  changes: Partial<Settings>,
  use: (child: Child) => Promise<T>,
): Promise<T> {
  await bench.redis.control.flushall()
  const child = await startChild(entry, settingsOf(bench, changes))
  try {
    return await use(child)
  } finally {
    await child.close()
  }
}

async function named(name: string, measure: () => Promise<number>): Promise<Named> {
  try {
    return { name, value: await measure() }
  } catch (error) {
    return { name, value: error instanceof Error ? error.message : String(error) }
  }
}

function worst(values: readonly Named[]): Value {
  const problem = values.find(({ value }) => typeof value === 'string')
  return problem?.value ?? Math.max(...values.map(({ value }) => Number(value)))
}
