import { createRateLimiter, redisStore, tokenBucket } from '@sluice/core'
import { Redis, type RedisOptions } from 'ioredis'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { connection } from './clients.ts'
import { inTime } from './modes.ts'
import { place } from './outages.ts'

const settings: readonly Omit<RedisOptions, 'replyMapping'>[] = [
  { stringNumbers: true },
  { protocol: 2 },
  { keyPrefix: 'app:' },
  { enableAutoPipelining: true },
  { lazyConnect: true },
  { enableReadyCheck: false },
  { enableOfflineQueue: false },
  { autoResendUnfulfilledCommands: false },
  { maxRetriesPerRequest: null },
  { maxRetriesPerRequest: 0 },
  { commandTimeout: 100 },
]

test.concurrent.each(settings.map((options) => [JSON.stringify(options), options] as const))(
  'R31: a client set to %s decides alike, fails alike and recovers alike',
  async (_text, options) => {
    await using at = await place()
    await using client = connection(
      new Redis({ ...options, port: at.link.port, host: '127.0.0.1' }),
    )
    const limiter = createRateLimiter({
      store: redisStore(client.redis),
      policy: tokenBucket({ capacity: 2, refill: 1, refillMs: 600_000 }),
      onStoreFailure: 'open',
      denyCacheMs: 0,
    })
    const consume = (key: string) => inTime(limiter.consume(key))
    await eventually(async () => (await consume('first')).source === 'store')
    expect(await consume('k')).toMatchObject({ source: 'store', allowed: true, remaining: 1 })
    expect(await consume('k')).toMatchObject({ source: 'store', allowed: true, remaining: 0 })
    const refused = await consume('k')
    expect(refused).toMatchObject({ source: 'store', allowed: false, remaining: 0 })
    expect(refused.retryAfterMs).toBeGreaterThan(590_000)
    expect(refused.retryAfterMs).toBeLessThanOrEqual(600_000)

    at.link.refuse()
    at.link.cut()
    const calls = Array.from({ length: 8 }, () => consume('k'))
    for (const { source } of await Promise.all(calls)) expect(source).toBe('open')
    await at.link.accept()
    await eventually(() => client.isReady(), { withinMs: 20_000 })
    await eventually(async () => (await consume('k')).source === 'store', { withinMs: 1000 })
    expect(await consume('k')).toMatchObject({ source: 'store', allowed: false })
  },
)
