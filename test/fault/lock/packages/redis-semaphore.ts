import { Mutex, TimeoutError } from 'redis-semaphore'
import { type OpenPackage, RETRY_MS } from './lock-package.ts'

/** Its mutex counts as held until a refresh has failed: it tells no end of it. */
export const redisSemaphore: OpenPackage = (redis, { leaseMs }) => ({
  acquire: async (key, waitMs) => {
    const mutex = new Mutex(redis, key, {
      lockTimeout: leaseMs,
      acquireTimeout: waitMs,
      retryInterval: RETRY_MS,
      onLockLost: () => {},
    })
    await mutex.acquire()
    return {
      remainingMs: () => (mutex.isAcquired ? Number.MAX_SAFE_INTEGER : 0),
      release: () => mutex.release().then(() => 'released'),
    }
  },
  why: (error) => (error instanceof TimeoutError ? 'held' : 'unavailable'),
})
