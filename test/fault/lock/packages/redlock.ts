import { Redlock as SesamecareRedlock } from '@sesamecare-oss/redlock'
import Redlock from 'redlock'
import { type LockPackage, type OpenPackage, RETRY_MS } from './lock-package.ts'

/** redlock 5 and its descendant @sesamecare-oss/redlock, whose interfaces are the same. */
export const redlock: OpenPackage = (redis, { leaseMs }) => driven(new Redlock([redis]), leaseMs)

export const sesamecare: OpenPackage = (redis, { leaseMs }) =>
  driven(new SesamecareRedlock([redis]), leaseMs)

interface Locks {
  acquire(
    keys: string[],
    leaseMs: number,
    settings: { retryCount: number; retryDelay: number; retryJitter: number },
  ): Promise<{ readonly expiration: number; release(): Promise<unknown> }>
}

function driven(locks: Locks, leaseMs: number): LockPackage {
  return {
    acquire: async (key, waitMs) => {
      const retryCount = Math.floor(waitMs / RETRY_MS)
      const retries = { retryCount, retryDelay: RETRY_MS, retryJitter: RETRY_MS / 2 }
      const lock = await locks.acquire([key], leaseMs, retries)
      const { expiration } = lock // release() sets it to 0
      return {
        remainingMs: () => expiration - Date.now(),
        release: () => lock.release().then(() => 'released'),
      }
    },
    why: ({ name }: Error) => (name === 'ExecutionError' ? 'held' : 'unavailable'),
  }
}
