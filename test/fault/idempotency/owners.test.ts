import { createIdempotency, type Idempotency, redisStore } from '@sluice/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { type Connection, ioredis } from '../rate-limit/clients.ts'
import { withoutTtl } from '../rate-limit/keys.ts'
import { Owner } from './owner.ts'

const LEASE_MS = 900
/** Deadlines are not what is tested here, and the machine may be busy. */
const timeoutMs = 10_000
const response = { status: 200, headers: [], body: 'as the operator found' }

let server: RedisServer
let client: Connection
let holding: Idempotency
let rerunning: Idempotency
let key: string
let keys = 0

beforeAll(async () => {
  server = await RedisServer.start()
  client = ioredis.open(server.port)
  const store = redisStore(client.redis)
  holding = createIdempotency({ store, leaseMs: LEASE_MS, timeoutMs })
  rerunning = createIdempotency({ store, leaseMs: LEASE_MS, timeoutMs, onUnknown: 'rerun' })
})
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  key = `order ${++keys}`
})

describe('an owner that is killed', () => {
  async function killed(): Promise<{ attempt: number; fence: number }> {
    await using owner = await Owner.start(server.port, { leaseMs: LEASE_MS, timeoutMs })
    const begun = await owner.begin(request())
    expect(begun.state).toBe('started')
    // Renewals have kept the key for longer than one lease.
    await eventually(async () => (await heldForMs()) > 1.5 * LEASE_MS)
    await owner.kill()
    const copy = await holding.begin(request())
    // A machine that was busy for a whole lease comes too late to see it last.
    const isOver = copy.state === 'unknown' && Number(copy.since) <= Date.now()
    expect(copy.state === 'in-progress' || isOver).toBe(true)
    await isUnknown()
    return begun
  }

  test('I11: leaves an unknown outcome, held until the operator confirms it', async () => {
    await killed()
    expect(await holding.begin(request())).toMatchObject({
      state: 'unknown',
      since: expect.any(Date),
    })
    expect(await listed()).toContain(key)
    expect(await holding.confirm(key, response)).toBe(true)
    expect(await holding.begin(request())).toEqual({ state: 'replay', response })
    expect(await listed()).not.toContain(key)
    expect(await withoutTtl(server)).toEqual([])
  })

  test('I11: leaves an unknown outcome, held until the operator releases it', async () => {
    const { fence } = await killed()
    expect(await holding.release(key)).toBe(true)
    const begun = await holding.begin(request())
    expect(begun).toMatchObject({ state: 'started', execution: { attempt: 1 } })
    if (begun.state !== 'started') return
    expect(begun.execution.fence).toBeGreaterThan(fence)
    await begun.execution.complete(response)
  })

  test('I11: leaves an unknown outcome that one alone runs again, where that was asked for', async () => {
    const { fence } = await killed()
    const begun = await Promise.all(Array.from({ length: 10 }, () => rerunning.begin(request())))
    const executions = begun.flatMap((one) => (one.state === 'started' ? [one.execution] : []))
    expect(executions).toHaveLength(1)
    expect(executions[0]?.attempt).toBe(2)
    expect(executions[0]?.fence).toBeGreaterThan(fence)
    await executions[0]?.complete(response)
  })

  test('I15: keeps nobody waiting for longer than its lease', async () => {
    const owner = await Owner.start(server.port, { leaseMs: LEASE_MS, timeoutMs })
    await owner.begin(request())
    const waiting = [1, 2, 3].map(() => rerunning.begin({ ...request(), waitMs: 60_000 }))
    await owner.kill()
    const first = await Promise.race(waiting)
    if (first.state !== 'started') throw new Error(first.state)
    await first.execution.complete(response)
    const rest = (await Promise.all(waiting)).filter((one) => one !== first)
    expect(rest).toEqual([
      { state: 'replay', response },
      { state: 'replay', response },
    ])
  })
})

describe('an owner that stands still past its lease', () => {
  test('I11: is told so, and settles what nobody has claimed since', async () => {
    await using owner = await Owner.start(server.port, { leaseMs: LEASE_MS, timeoutMs })
    await owner.begin(request())
    owner.pause()
    await isUnknown()
    owner.resume()
    await eventually(async () => (await owner.tell()).aborted)
    expect(await owner.complete('late')).toBe('settled')
    expect(await holding.begin(request())).toMatchObject({
      state: 'replay',
      response: { body: 'late' },
    })
    expect((await owner.tell()).events).toMatchObject([
      { type: 'lease-lost' },
      { type: 'late-settlement', outcome: 'settled', settlement: 'completed', attempt: 1 },
    ])
  })

  test('I11: is told so, and refused once another one has claimed the key', async () => {
    await using owner = await Owner.start(server.port, { leaseMs: LEASE_MS, timeoutMs })
    await owner.begin(request())
    owner.pause()
    await isUnknown()
    const second = await rerunning.begin(request())
    if (second.state !== 'started') throw new Error(second.state)
    owner.resume()
    expect(await owner.complete('late')).toBe('refused')
    expect(await second.execution.complete({ ...response, body: 'second' })).toBe('settled')
    expect(await owner.complete('later')).toBe('refused')
    expect(await holding.begin(request())).toMatchObject({ response: { body: 'second' } })
    expect((await owner.tell()).events).toContainEqual(
      expect.objectContaining({ type: 'late-settlement', outcome: 'refused' }),
    )
  })

  test('I11: is refused once the operator has settled it', async () => {
    await using owner = await Owner.start(server.port, { leaseMs: LEASE_MS, timeoutMs })
    await owner.begin(request())
    owner.pause()
    await isUnknown()
    await holding.confirm(key, response)
    owner.resume()
    expect(await owner.complete('late')).toBe('refused')
    expect(await holding.begin(request())).toEqual({ state: 'replay', response })
  })
})

function request() {
  return { key, fingerprint: 'the same order' }
}

async function heldForMs(): Promise<number> {
  const record = await holding.inspect(key)
  return Date.now() - Number(record?.since)
}

async function isUnknown(): Promise<void> {
  await eventually(async () => (await holding.inspect(key))?.state === 'unknown')
}

async function listed(): Promise<readonly string[]> {
  const found: string[] = []
  for await (const record of holding.unknown()) found.push(record.key)
  return found
}
