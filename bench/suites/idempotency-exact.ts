import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { startChild } from '../process/child.ts'
import type { RedisServer } from '../redis.ts'
import type { Named, Row, Value } from '../rows.ts'
import { type Bench, type Suite, settingsOf } from './suite.ts'

const requests = 100

const applications = [
  ['Sluice', 'koa-idempotency'],
  ['Sluice, Express', 'express-idempotency'],
  ['SET NX and SET', 'koa-set-nx'],
  ['@node-idempotency/core', 'koa-node-idempotency'],
  ['express-idempotency', 'express-express-idempotency'],
] as const

/** What one application did for each request. */
interface Exact {
  readonly first: number
  readonly replay: number
  readonly bytes: number
}

export const idempotencyExact: Suite = {
  name: 'idempotency-exact',
  conditions: `${requests} requests one after the other, each once and once more: commands that clients send, as MONITOR shows them; MEMORY USAGE of all keys, less the bodies of the responses`,
  run: async (bench) => {
    const all: Measured[] = []
    for (const [name, entry] of applications)
      all.push({ name, exact: await exactOf(bench, entry).catch(String) })
    return { rows: rowsOf(all) }
  },
}

interface Measured {
  readonly name: string
  /** Or why there is nothing. */
  readonly exact: Exact | string
}

function rowsOf(all: readonly Measured[]): Row[] {
  const row = (line: Omit<Row, 'ours' | 'others'>, pick: (one: Exact) => number): Row => {
    const values = all.map(({ name, exact }): Named => {
      return { name, value: typeof exact === 'string' ? exact : pick(exact) }
    })
    const own = values.filter(({ name }) => name.startsWith('Sluice'))
    const others = values.filter(({ value }) => !Number.isNaN(value)) // a floor has no replay
    return { ...line, ours: worst(own), others }
  }
  const roundTrips = 'round trips' as const
  return [
    row(
      { measure: 'first execution: round trips', target: { exactly: 2 }, unit: roundTrips },
      ({ first }) => first,
    ),
    row(
      { measure: 'replay: round trips', target: { exactly: 1 }, unit: roundTrips },
      ({ replay }) => replay,
    ),
    row(
      {
        measure: 'Redis bytes a record, key and all, beyond the body of the response',
        target: { atMost: 400 },
        unit: 'bytes',
      },
      ({ bytes }) => bytes,
    ),
  ]
}

async function exactOf(bench: Bench, entry: string): Promise<Exact> {
  const { redis } = bench
  await redis.control.flushall()
  const child = await startChild(`http-apps/${entry}.ts`, settingsOf(bench))
  try {
    const { port } = await child.call<AddressInfo>('address')
    await post(port, 'warm-up') // loads the scripts
    await redis.control.flushall()
    const [first, bodies] = await commandsDuring(redis, () => postAll(port))
    const bytes = (await memoryOf(redis)) - Buffer.byteLength(bodies)
    if (entry.endsWith('set-nx')) return { first, replay: Number.NaN, bytes: bytes / requests }
    const [replay, again] = await commandsDuring(redis, () => postAll(port))
    if (again !== bodies) throw new Error('a replay was not the first response')
    return { first, replay, bytes: bytes / requests }
  } finally {
    await child.close()
  }
}

/** One request a key, and all that was answered. */
async function postAll(port: number): Promise<string> {
  let bodies = ''
  for (let index = 0; index < requests; index += 1) bodies += await post(port, keyOf(index))
  return bodies
}

/** UUIDs are what clients send. */
function keyOf(index: number): string {
  return `8e03978e-40d5-43dd-bc93-${String(index).padStart(12, '0')}`
}

async function post(port: number, key: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: '{"sku":"book","cents":2500}',
  })
  if (response.status !== 200) throw new Error(`answered ${response.status}`)
  return response.text()
}

/** Counts what arrives from clients, a request; what scripts do is no round trip. */
async function commandsDuring<T>(
  redis: RedisServer,
  run: () => Promise<T>,
): Promise<readonly [number, T]> {
  const monitor = await redis.control.monitor()
  let commands = 0
  const marked = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, args: readonly string[], source: string) => {
      if (args[1] === MARK) resolve()
      else if (source !== 'lua') commands += 1
    })
  })
  try {
    const result = await run()
    await pause(100) // a contender that stores after it has answered gets its commands counted too
    await redis.control.echo(MARK)
    await marked
    return [commands / requests, result]
  } finally {
    monitor.disconnect()
  }
}

const MARK = 'all before has been seen'

function worst(values: readonly Named[]): Value {
  const problem = values.find(({ value }) => typeof value === 'string')
  return problem?.value ?? Math.max(...values.map(({ value }) => Number(value)))
}

async function memoryOf({ control }: RedisServer): Promise<number> {
  let sum = 0
  for (const name of await control.keys('*'))
    sum += (await control.memory('USAGE', name, 'SAMPLES', 0)) ?? 0
  return sum
}
