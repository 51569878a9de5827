import { createLocker, redisStore } from '@sluice/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Child } from '../../support/child.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { type Connection, ioredis } from '../rate-limit/clients.ts'
import type { Finding } from './children/paused-holder.ts'

let server: RedisServer
let direct: Connection
beforeAll(async () => {
  server = await RedisServer.start()
  direct = ioredis.open(server.port)
})
afterAll(async () => {
  await direct[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

describe.each(['true', 'false'])('a holder that stands still (renew: %s)', (renew) => {
  function holder(key: string): Promise<Child> {
    const file = new URL('children/paused-holder.ts', import.meta.url)
    return Child.start(file, { args: [String(server.port), key, renew] })
  }

  test('L9: finds its lease over when its process is continued', async () => {
    const key = `stopped-${renew}`
    await using child = await holder(key)
    const fence = await child.ask<number>('acquire')
    child.pause()
    const locker = createLocker({ store: redisStore(direct.redis) })
    await using next = await locker.acquire(key, { waitMs: 10_000 })
    expect(next.fence).toBeGreaterThan(fence)
    const found = child.ask<Finding>('look')
    child.resume()
    const { remainingMs, reason } = await found
    expect(remainingMs).toBeLessThanOrEqual(0)
    expect(reason).toBe('silence')
    expect(await child.ask('release')).toBe('already-lost')
    expect(next.remainingMs()).toBeGreaterThan(0)
  })

  test('L9: finds its lease over when its event loop was blocked', async () => {
    const key = `blocked-${renew}`
    await using child = await holder(key)
    await child.ask('acquire')
    const { remainingMs, reason } = await child.ask<Finding>('block')
    expect(remainingMs).toBeLessThanOrEqual(0)
    expect(reason).toBe('silence')
  })
})
