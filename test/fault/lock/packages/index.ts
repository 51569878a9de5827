import type { OpenPackage } from './lock-package.ts'

interface PackageEntry {
  /** A process loads only the package that it is to use. */
  readonly load: () => Promise<OpenPackage>
  /** The key on the server by which it holds the lock `key`. */
  readonly lockKey: (key: string) => string
}

export type PackageName =
  | 'sluice'
  | 'counting'
  | 'redlock'
  | '@sesamecare-oss/redlock'
  | 'redis-semaphore'
  | 'redlock-universal'

export const packages: Readonly<Record<PackageName, PackageEntry>> = {
  sluice: {
    load: async () => (await import('./sluice.ts')).sluice,
    lockKey: (key) => `sluice:lock:{${key}}`,
  },
  counting: {
    load: async () => (await import('./counting.ts')).counting,
    lockKey: (key) => key,
  },
  redlock: {
    load: async () => (await import('./redlock.ts')).redlock,
    lockKey: (key) => key,
  },
  '@sesamecare-oss/redlock': {
    load: async () => (await import('./redlock.ts')).sesamecare,
    lockKey: (key) => key,
  },
  'redis-semaphore': {
    load: async () => (await import('./redis-semaphore.ts')).redisSemaphore,
    lockKey: (key) => `mutex:${key}`,
  },
  'redlock-universal': {
    load: async () => (await import('./redlock-universal.ts')).redlockUniversal,
    lockKey: (key) => key,
  },
}
