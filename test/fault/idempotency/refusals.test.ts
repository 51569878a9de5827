import {
  createIdempotency,
  type Idempotency,
  redisStore,
  StoreUnavailableError,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'

const response = { status: 201, headers: [], body: 'made' }
const request = { key: 'k', fingerprint: 'x' }
const record = 'sluice:idempotency:{:k}'
const index = 'sluice:idempotency:open'

let server: RedisServer
let redis: Redis
let idempotency: Idempotency

beforeEach(async () => {
  server = await RedisServer.start()
  redis = new Redis(server.port, '127.0.0.1')
  idempotency = createIdempotency({ store: redisStore(redis), timeoutMs: 10_000 })
})
afterEach(async () => {
  redis.disconnect()
  await server[Symbol.asyncDispose]()
})

describe('a server that forbids a command', () => {
  test.each(['get', 'set', 'evalsha', 'time', 'zadd', 'zrem'])(
    'I1, I16: %s refuses keys for as long, and runs nothing that was done already',
    async (command) => {
      const done = { key: 'done', fingerprint: 'x' }
      const begun = await idempotency.begin(done)
      if (begun.state === 'started') await begun.execution.complete(response)
      await redis.acl('SETUSER', 'default', `-${command}`)
      const claim = () => idempotency.begin(request).then(({ state }) => state, refusedBy)
      const again = () => idempotency.begin(done).then(({ state }) => state, refusedBy)
      expect(await again()).toBe(['get', 'evalsha'].includes(command) ? 'failure' : 'replay')
      if (command !== 'zrem') expect(await claim()).toBe('failure')
      await redis.acl('SETUSER', 'default', '+@all')
      await eventually(async () => (await again()) === 'replay')
      await eventually(async () => ['started', 'in-progress'].includes(await claim()))
    },
  )
})

describe('keys of another type', () => {
  test('I16: under the name of a record are overwritten by the first claim', async () => {
    await redis.hset(record, 'not', 'ours')
    const begun = await idempotency.begin(request)
    if (begun.state !== 'started') throw new Error(begun.state)
    await begun.execution.complete(response)
    expect(await idempotency.begin(request)).toEqual({ state: 'replay', response })
    expect(await redis.pttl(record)).toBeGreaterThan(0)
  })

  test('I16: under the name of the index refuse keys, and leave none claimed', async () => {
    await redis.set(index, 'not ours')
    expect(await idempotency.begin(request).catch(refusedBy)).toBe('failure')
    await redis.del(index)
    await eventually(async () => {
      const begun = await idempotency.begin(request)
      if (begun.state === 'started') await begun.execution.release()
      return begun.state === 'started'
    })
  })
})

test('I13: scripts that were flushed between any two calls are sent again', async () => {
  await redis.script('FLUSH')
  const begun = await idempotency.begin(request)
  if (begun.state !== 'started') throw new Error(begun.state)
  await redis.script('FLUSH')
  expect(await begun.execution.complete(response)).toBe('settled')
  await redis.script('FLUSH')
  expect(await idempotency.begin(request)).toEqual({ state: 'replay', response })
})

function refusedBy(error: unknown): string {
  expect(error).toBeInstanceOf(StoreUnavailableError)
  return (error as StoreUnavailableError).reason
}
