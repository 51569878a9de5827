import { createLocker, type RedisClient, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'

/**
 * Leaves a lease that it renews, one whose signal it has read, a line that was used, and a claim of which nobody knows:
 * nothing but the client's connection may keep this process alive.
 */
const [port] = process.argv.slice(2)
const redis = new Redis(Number(port), '127.0.0.1')
const store = redisStore(redis as RedisClient)
for (const options of [{}, { store }]) {
  const locker = createLocker({ ...options, renew: true })
  const lease = await locker.acquire('renewed')
  if (lease.signal.aborted) throw new Error('aborted')
  await locker.acquire('renewed', { waitMs: 50 }).catch(() => {})
  const watched = await createLocker(options).acquire('watched')
  if (watched.signal.aborted) throw new Error('aborted')
}
const hasty = createLocker({ store, timeoutMs: 1 })
await redis.call('CLIENT', 'PAUSE', '100', 'WRITE')
await hasty.acquire('uncertain').catch(() => {})
await store.close()
redis.disconnect()
