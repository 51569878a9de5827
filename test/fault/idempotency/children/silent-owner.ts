import { createIdempotency, type RedisClient, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'

/** Claims a key, and never settles it: nothing but the client's connection may keep this process alive. */
const [port] = process.argv.slice(2)
const redis = new Redis(Number(port), '127.0.0.1')
const store = redisStore(redis as RedisClient)
for (const idempotency of [createIdempotency(), createIdempotency({ store })]) {
  const begun = await idempotency.begin({ key: 'k', fingerprint: 'x' })
  if (begun.state !== 'started') throw new Error(begun.state)
}
const idempotency = createIdempotency({ store })
const waiting = await idempotency.begin({ key: 'k', fingerprint: 'x', waitMs: 200 })
if (waiting.state !== 'in-progress') throw new Error(waiting.state)
await store.close()
redis.disconnect()
