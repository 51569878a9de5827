import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { StoreUnderTest } from './rate-limit/rig.ts'

/** The clock of a real server: time passes for real, and is read there. */
export function serverClock(redis: Redis): Pick<StoreUnderTest, 'advance' | 'now'> & {
  readonly now: () => Promise<number>
} {
  const now = async () => {
    const [seconds, microseconds] = await redis.time()
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
  }
  return {
    now,
    async advance(ms) {
      const end = (await now()) + ms
      for (let leftMs = ms; leftMs > 0; leftMs = end - (await now())) await sleep(leftMs)
    },
  }
}
