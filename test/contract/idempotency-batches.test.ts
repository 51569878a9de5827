import { randomUUID } from 'node:crypto'
import {
  createIdempotency,
  type Execution,
  type Idempotency,
  type RedisClient,
  redisStore,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { FlakyLink } from '../support/flaky-link.ts'
import { RedisCluster } from '../support/redis-cluster.ts'

const keys = Array.from({ length: 20 }, (_, index) => `k${index}`)

let link: FlakyLink
/** Its requests are counted. */
let linked: Redis
let prefix: string

beforeAll(async () => {
  link = await FlakyLink.to(inject('redisPort'))
  linked = new Redis(link.port, '127.0.0.1')
  await linked.ping()
})
afterAll(async () => {
  linked.disconnect()
  await link[Symbol.asyncDispose]()
})
beforeEach(() => {
  prefix = `test-${randomUUID()}`
})

describe('what is asked for in one turn', () => {
  test('I1: travels together, and each is answered for itself', async () => {
    const idempotency = on(linked)
    await (await started(idempotency, 'done')).complete(response('done'))
    await started(idempotency, 'running')
    const before = link.requests()
    const begun = await Promise.all(
      [...keys, 'done', 'running'].map((key) => idempotency.begin({ key, fingerprint: 'x' })),
    )
    const other = await idempotency.begin({ key: 'done', fingerprint: 'other' })
    expect(link.requests() - before).toBe(3) // 16, 6, and the one more
    expect(begun.map(({ state }) => state)).toEqual([
      ...keys.map(() => 'started'),
      'replay',
      'in-progress',
    ])
    expect(other.state).toBe('mismatch')
  })

  test('I5: keeps short and long results apart', async () => {
    const idempotency = on(linked)
    const executions = await Promise.all(keys.map((key) => started(idempotency, key)))
    const bodies = keys.map((key, index) => key.repeat(index % 5 === 0 ? 20_000 : 1))
    const settled = executions.map((execution, index) =>
      execution.complete(response(bodies[index] ?? '')),
    )
    expect(new Set(await Promise.all(settled))).toEqual(new Set(['settled']))
    for (const [index, key] of keys.entries())
      expect(await idempotency.begin({ key, fingerprint: 'x' })).toEqual({
        state: 'replay',
        response: response(bodies[index] ?? ''),
      })
    expect(await linked.zcard(`${prefix}:idempotency:open`)).toBe(0)
  })

  test('fails alone where a record cannot be read', async () => {
    const idempotency = on(linked)
    await (await started(idempotency, 'broken')).complete(response('whole'))
    await linked.setrange(`${prefix}:idempotency:{:broken}`, 112, '!')
    const [broken, ...others] = await Promise.allSettled(
      ['broken', ...keys].map((key) => idempotency.begin({ key, fingerprint: 'x' })),
    )
    expect(broken).toMatchObject({ status: 'rejected', reason: { code: 'store-unavailable' } })
    for (const one of others) expect(one).toMatchObject({ value: { state: 'started' } })
  })

  test('goes alone on a server that takes no keys of different slots', async () => {
    await using cluster = await RedisCluster.start({ masters: 1 })
    const client = new Redis(cluster.nodes[0]?.port ?? 0, '127.0.0.1')
    const idempotency = on(client)
    const executions = await Promise.all(keys.map((key) => started(idempotency, key)))
    await Promise.all(executions.map((execution) => execution.complete(response('done'))))
    for (const key of keys)
      expect((await idempotency.begin({ key, fingerprint: 'x' })).state).toBe('replay')
    client.disconnect()
  })
})

function response(body: string) {
  return { status: 200, headers: [], body } as const
}

function on(client: unknown): Idempotency {
  return createIdempotency({
    store: redisStore(client as RedisClient, { prefix }),
    timeoutMs: 10_000,
  })
}

async function started(idempotency: Idempotency, key: string): Promise<Execution> {
  const begun = await idempotency.begin({ key, fingerprint: 'x' })
  if (begun.state !== 'started') throw new Error(`${key} is ${begun.state}`)
  return begun.execution
}
