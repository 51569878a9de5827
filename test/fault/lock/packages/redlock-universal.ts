import { createLock, IoredisAdapter } from 'redlock-universal'
import { type OpenPackage, RETRY_MS } from './lock-package.ts'

export const redlockUniversal: OpenPackage = (redis, { leaseMs }) => {
  const adapter = new IoredisAdapter(redis)
  return {
    acquire: async (key, waitMs) => {
      const retryAttempts = Math.floor(waitMs / RETRY_MS)
      const lock = createLock({ adapter, key, ttl: leaseMs, retryAttempts, retryDelay: RETRY_MS })
      const handle = await lock.acquire()
      return {
        remainingMs: () => handle.acquiredAt + handle.ttl - Date.now(),
        release: async () => ((await lock.release(handle)) ? 'released' : 'already-lost'),
      }
    },
    why: ({ name }: Error) => (name === 'LockAcquisitionError' ? 'held' : 'unavailable'),
  }
}
