import { randomUUID } from 'node:crypto'
import {
  createRateLimiter,
  fixedWindow,
  type RateLimiter,
  redisStore,
  type Store,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { command, fields } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { RedisServer } from '../support/redis-server.ts'
import { LONG_MS } from './rate-limit/cases.ts'
import { decide } from './rate-limit/rig.ts'
import { rateLimitStoreContract } from './rate-limit-store.ts'
import { serverClock } from './server-clock.ts'

const port = inject('redisPort')
const redis = new Redis(port)
beforeAll(() => () => redis.disconnect())

/** Whether the server under test has the command itself; the tests of that run where it does. */
const isNative = ((await command(port, 'COMMAND', 'INFO', 'INCREX')) as unknown[])[0] !== null

function limiter(store: Store): RateLimiter {
  const policy = fixedWindow({ limit: 3, windowMs: LONG_MS })
  const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
  return createRateLimiter({ name: 'native', policy, store, ...options })
}

describe('R14: on this server', () => {
  test.skipIf(isNative)(
    'INCREX is unknown: asked for once a connection, and scripts decide',
    async () => {
      await using own = await RedisServer.start()
      const client = new Redis(own.port)
      const store = redisStore(client)
      await client.ping()
      const refusedCommands = async () =>
        Number(
          /count=(\d+)/.exec(
            String(fields(await client.info('errorstats'))['errorstat_ERR']),
          )?.[1] ?? 0,
        )
      const connected = await refusedCommands() // a newer client says more about itself than an older server takes
      for (let call = 0; call < 20; call++) expect(await decide(limiter(store), 'a')).toBe(call < 3)
      expect(await refusedCommands()).toBe(connected + 1)
      client.disconnect(true)
      await eventually(() => client.ping())
      const reconnected = await refusedCommands()
      for (let call = 0; call < 20; call++) expect(await decide(limiter(store), 'a')).toBe(false)
      expect(await refusedCommands()).toBe(reconnected + 1)
      client.disconnect()
      await store.close()
    },
  )

  test.skipIf(!isNative)('INCREX decides single fixed windows', async () => {
    await using own = await RedisServer.start()
    const client = new Redis(own.port)
    const store = await nativeStore(client)
    const before = await increxCalls(client)
    for (let call = 0; call < 20; call++) expect(await decide(limiter(store), 'a')).toBe(call < 3)
    expect((await increxCalls(client)) - before).toBe(20)
    client.disconnect()
    await store.close()
  })
})

if (isNative)
  rateLimitStoreContract({
    name: 'INCREX of this server',
    algorithms: ['fixed-window'],
    makeStore: () => nativeStore(redis),
    ...serverClock(redis),
  })

/** A store on a client whose server has the command, when it has found out. */
async function nativeStore(client: Redis): Promise<Store> {
  const store = redisStore(client, { prefix: `native:${randomUUID()}` })
  await limiter(store).consume('first')
  const before = await increxCalls(client)
  await eventually(async () => {
    await limiter(store).consume('again')
    return (await increxCalls(client)) >= before + 3 // two to find out, and one that counts
  })
  return store
}

async function increxCalls(client: Redis): Promise<number> {
  const { cmdstat_increx: stat = '' } = fields(await client.info('commandstats'))
  return Number(/calls=(\d+)/.exec(stat)?.[1] ?? 0)
}
