import { createIdempotency, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { connection } from '../rate-limit/clients.ts'

test('I14, I15: a run is completed, and who waits gets its response, where nobody may send or hear news', async () => {
  await using server = await RedisServer.start()
  const rules = ['on', '>secret', '~*', 'resetchannels', '+@all']
  await server.command('ACL', 'SETUSER', 'deaf', ...rules)
  const own = { username: 'deaf', password: 'secret' }
  await using client = connection(new Redis(server.port, '127.0.0.1', own))
  const store = redisStore(client.redis)
  const idempotency = createIdempotency({ store, timeoutMs: 10_000 })
  const request = { key: 'order', fingerprint: 'x' }
  const begun = await idempotency.begin(request)
  if (begun.state !== 'started') throw new Error(begun.state)
  const waiting = idempotency.begin({ ...request, waitMs: 20_000 })
  const isAwaited = async () =>
    String(await server.command('GETRANGE', 'sluice:idempotency:{:order}', 1, 1)) === '\u0001'
  await eventually(isAwaited)
  const response = { status: 201, headers: [], body: 'made' }
  expect(await begun.execution.complete(response)).toBe('settled')
  expect(await waiting).toEqual({ state: 'replay', response })
  await store.close()
})
