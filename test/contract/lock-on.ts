import { type LockStore, type RedisClient, redisStore } from '@sluice/core'
import { onTestFinished } from 'vitest'

/** The locks of a store on this client, until the test's end. */
export function lockOn(client: RedisClient, prefix = 'sluice'): LockStore {
  const store = redisStore(client, { prefix })
  onTestFinished(() => store.close())
  return store.lock as LockStore
}
