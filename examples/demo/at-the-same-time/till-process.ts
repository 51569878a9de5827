import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { redisStore } from '@sluice/express'
import express from 'express'
import { Redis } from 'ioredis'
import type { SharedRedis } from '../act.ts'
import { readSettings } from '../server-process.ts'
import { remoteBooks } from './ledger.ts'
import { openTill } from './till.ts'

// A till in a process of its own, which may be frozen. It ends with its parent in any case.
process.on('disconnect', () => process.exit())
const { redis, ledgerUrl, leaseMs, waitMs } = readSettings<TillSettings>()
const store = redisStore(new Redis(redis.url), { prefix: redis.prefix })
const app = express()
openTill(app, { store, leaseMs, waitMs }, remoteBooks(ledgerUrl))
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)

/** What the process is told at its start. */
export interface TillSettings {
  readonly redis: SharedRedis
  readonly ledgerUrl: string
  readonly leaseMs: number
  readonly waitMs: number
}
