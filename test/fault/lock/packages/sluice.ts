import { createLocker, type Lease, redisStore } from '@sluice/core'
import type { LockPackage, OpenPackage, PackageLease } from './lock-package.ts'

export const sluice: OpenPackage = (redis, { leaseMs, renew }): LockPackage => {
  const locker = createLocker({ store: redisStore(redis), leaseMs, renew, timeoutMs: 500 })
  return {
    acquire: async (key, waitMs) => leaseOf(await locker.acquire(key, { waitMs })),
    why: (error) => {
      const code = (error as { code?: string }).code
      if (code === 'lock-timeout') return 'held'
      return code === 'store-unavailable' ? 'unavailable' : `unexpected: ${String(error)}`
    },
  }
}

function leaseOf(lease: Lease): PackageLease {
  const { signal } = lease
  return {
    fence: lease.fence,
    remainingMs: () => lease.remainingMs(),
    aborted: () => signal.aborted,
    release: () => lease.release(),
  }
}
