import { interleave, type Results, rate } from '../harness.ts'
import { idempotencyContender, type Protected } from '../idempotency/contender.ts'
import { startChild } from '../process/child.ts'
import { compare, type Row } from '../rows.ts'
import { type Bench, type Suite, settingsOf } from './suite.ts'

const connections = 32
const keys = 1000
const ours = 'Sluice'

/** The host, with the bare commands that the requirement compares with, and the peer that this host allows. */
const hosts = [
  { host: 'Koa', folder: 'koa', peer: '@node-idempotency/core', entry: 'koa-node-idempotency' },
  {
    host: 'Express',
    folder: 'express',
    peer: 'express-idempotency',
    entry: 'express-express-idempotency',
  },
] as const

type Host = (typeof hosts)[number]

const floors = {
  first: { floor: 'SET NX and SET', entry: 'set-nx', atLeast: 0.85, what: 'first execution' },
  replay: { floor: 'one GET', entry: 'get', atLeast: 0.9, what: 'replay' },
} as const

export const idempotencySuites: readonly Suite[] = hosts.flatMap((host) => [
  measuring('first', host),
  measuring('replay', host),
])

function measuring(measured: 'first' | 'replay', host: Host): Suite {
  const { floor, atLeast, what, entry } = floors[measured]
  const contenders: readonly Protected[] = [
    { name: floor, entry: `http-apps/${host.folder}-${entry}.ts` },
    { name: ours, entry: `http-apps/${host.folder}-idempotency.ts` },
    { name: host.peer, entry: `http-apps/${host.entry}.ts` },
  ]
  return {
    name: `idempotency-${measured}-${host.folder}`,
    conditions: `${host.host}, Redis, ${connections} connections, POST of JSON with a parser; ${
      measured === 'first' ? 'a new key each' : `the results of ${keys} keys`
    }`,
    run: async (bench) => {
      const results = await underLoad(bench, measured, contenders)
      const row: Row = compare(results, {
        base: floor,
        ours,
        measure: `${what}, ${host.host} + Redis, against ${floor}: requests/s`,
        target: { atLeast },
        pick: rate,
      })
      return { results, rows: [row] }
    },
  }
}

async function underLoad(
  bench: Bench,
  measured: 'first' | 'replay',
  contenders: readonly Protected[],
): Promise<Results> {
  await bench.redis.control.flushall()
  const settings = settingsOf(bench)
  const generator = await startChild('http-apps/load-generator.ts', settings)
  const plan = { redis: bench.redis, generator, settings, connections, keys, measured }
  try {
    return await interleave(
      new Map(contenders.map((one) => [one.name, () => idempotencyContender(plan, one)])),
      bench.plan,
    )
  } finally {
    await generator.close()
  }
}
