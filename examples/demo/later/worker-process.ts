import { redisStore } from '@sluice/express'
import { Redis } from 'ioredis'
import type { SharedRedis } from '../act.ts'
import { readSettings } from '../server-process.ts'
import { remoteDesk } from './shop.ts'
import { expiryQueue, startWorker } from './worker.ts'

// A worker in a process of its own, which may be killed. It ends with its parent in any case.
process.on('disconnect', () => process.exit())
const { redis, shopUrl, number } = readSettings<WorkerSettings>()
const store = redisStore(new Redis(redis.url), { prefix: redis.prefix })
startWorker(expiryQueue(store), remoteDesk(shopUrl), number)
process.send?.(0)

/** What the process is told at its start. */
export interface WorkerSettings {
  readonly redis: SharedRedis
  readonly shopUrl: string
  readonly number: number
}
