import type { Redis } from 'ioredis'

/** A lock package as the rig drives it. */
export interface LockPackage {
  /** Waits `waitMs` at most; rejects when there is no lease to be had. */
  acquire(key: string, waitMs: number): Promise<PackageLease>
  /** Why an acquire was rejected. */
  why(error: unknown): 'held' | 'unavailable' | `unexpected: ${string}`
}

export interface PackageLease {
  readonly fence?: number
  /** How long the holder may count on it, as the package tells its user. */
  remainingMs(): number
  /** Whether the package has told its holder that it is lost; absent where it tells nobody. */
  aborted?(): boolean
  /** `released`, or whatever else came of it. */
  release(): Promise<string>
}

interface PackageOptions {
  readonly leaseMs: number
  readonly renew: boolean
}

export type OpenPackage = (redis: Redis, options: PackageOptions) => LockPackage

/** Peers poll, at most so often. */
export const RETRY_MS = 20
