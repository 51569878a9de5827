import { createRateLimiter, fixedWindow, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'

test('R30: a server that takes writes and no scripts stays unavailable: the circuit does not flap', async () => {
  await using server = await RedisServer.start()
  const operator = new Redis(server.port)
  await operator.call(
    'ACL',
    'SETUSER',
    'app',
    'on',
    '>pw',
    '~*',
    '&*',
    '+@all',
    '-eval',
    '-evalsha',
  )
  const client = new Redis(server.port, { username: 'app', password: 'pw' })
  client.on('error', () => {})
  const store = redisStore(client)
  const policy = fixedWindow({ limit: 5, windowMs: 60_000 })
  const limiter = createRateLimiter({ store, policy, onStoreFailure: 'closed' })
  for (let n = 0; n < 5; n++)
    expect(await limiter.consume('ann')).toMatchObject({ source: 'closed' })
  expect(store.circuit?.isOpen).toBe(true)
  const probed = async () =>
    Number(/cmdstat_eval:.*rejected_calls=(\d+)/.exec(await operator.info('commandstats'))?.[1])
  await eventually(async () => expect(await probed()).toBeGreaterThan(2))
  expect(store.circuit?.isOpen).toBe(true)
  await operator.call('ACL', 'SETUSER', 'app', '+eval', '+evalsha')
  await eventually(() => expect(store.circuit?.isOpen).toBe(false))
  await store.close()
  client.disconnect()
  operator.disconnect()
})
