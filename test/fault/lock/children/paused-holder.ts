import { setTimeout as sleep } from 'node:timers/promises'
import { createLocker, type Lease, type RedisClient, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { answerParent } from '../../../support/answer-parent.ts'

/** What a holder knows of its lease: at once, and when its timers have run. */
export interface Finding {
  readonly remainingMs: number
  readonly reason: unknown
}

const [port, key, renew] = process.argv.slice(2)
const redis = new Redis(Number(port), '127.0.0.1')
const store = redisStore(redis as RedisClient)
const locker = createLocker({ store, leaseMs: 400, renew: renew === 'true' })
let lease: Lease
let signal: AbortSignal

answerParent(async (request: 'acquire' | 'block' | 'look' | 'release') => {
  if (request === 'acquire') {
    lease = await locker.acquire(key as string, { waitMs: 5000 })
    signal = lease.signal
    return lease.fence
  }
  if (request === 'release') return lease.release()
  if (request === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  return look()
})

async function look(): Promise<Finding> {
  const remainingMs = lease.remainingMs()
  await sleep(1)
  return { remainingMs, reason: signal.reason?.reason }
}
