import { keyPart } from '../redis/keys.ts'

/** The keys of one lock on a server; one hash tag holds them together. */
export interface RedisLockKeys {
  readonly holder: string
  readonly fence: string
  readonly line: string
}

/**
 * A caller who wants several locks in one slot of a Cluster tags them as Redis keys are tagged: what stands in the
 * first braces is their tag here too.
 */
export function redisLockKeys(prefix: string, key: string): RedisLockKeys {
  const tag = TAG.exec(key)?.[1]
  const slot = `${prefix}{${keyPart(tag ?? key)}}`
  const name = tag === undefined ? '' : `:${keyPart(key)}`
  return { holder: slot + name, fence: `${slot}f${name}`, line: `${slot}w${name}` }
}

const TAG = /^[^{]*\{([^}]+)\}/
