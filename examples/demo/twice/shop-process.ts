import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { redisStore } from '@sluice/express'
import express from 'express'
import { Redis } from 'ioredis'
import { readSettings } from '../server-process.ts'
import { openShop } from './shop.ts'
import type { Settings } from './victim.ts'

// The shop in a process of its own, which will be killed. It ends with its parent in any case.
process.on('disconnect', () => process.exit())
const { redis, bankUrl, leaseMs } = readSettings<Settings>()
const store = redisStore(new Redis(redis.url), { prefix: redis.prefix })
const app = express()
openShop(app, { store, leaseMs }, async (order) => {
  const response = await fetch(`${bankUrl}/bank/charges/${order}`, { method: 'POST' })
  return response.text()
})
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
