import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { nowMs } from '../monotonic.ts'
import { type OpenPackage, RETRY_MS } from './lock-package.ts'

/** A lock as one writes it in an afternoon: SET NX PX with a fence from a plain counter beside it. */
export const counting: OpenPackage = (redis, { leaseMs }) => ({
  acquire: async (key, waitMs) => {
    const token = randomUUID()
    const endMs = nowMs() + waitMs
    do {
      const askedMs = nowMs()
      const fence = Number(await redis.eval(ACQUIRE, 2, key, `${key}:fence`, token, leaseMs))
      if (fence > 0)
        return {
          fence,
          remainingMs: () => askedMs + leaseMs - nowMs(),
          release: () => release(redis, key, token),
        }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    } while (nowMs() < endMs)
    throw new Error(HELD)
  },
  why: ({ message }: Error) => (message === HELD ? 'held' : 'unavailable'),
})

const HELD = 'the key is held'

const ACQUIRE = `
  if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
  return redis.call('INCR', KEYS[2])`

const RELEASE = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('DEL', KEYS[1])`

async function release(redis: Redis, key: string, token: string): Promise<string> {
  return (await redis.eval(RELEASE, 1, key, token)) === 1 ? 'released' : 'already-lost'
}
