import { setTimeout as sleep } from 'node:timers/promises'
import { createRateLimiter, fixedWindow, redisStore } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { clientKinds, connected } from './clients.ts'
import { contents, withoutTtl } from './keys.ts'
import { Limiters } from './modes.ts'
import { place } from './outages.ts'

describe.each(clientKinds)('requests over $name that go on', (kind) => {
  test('R31: are all decided by a Redis whose script cache is flushed again and again', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const limiters = new Limiters(redisStore(client.redis))
    await eventually(() => limiters.areServed())
    await limiters.consumeDuring(async () => {
      for (let times = 0; times < 50; times++) await at.server.command('SCRIPT', 'FLUSH')
    })
    expect(limiters.wrong).toEqual([])
    expect(await limiters.spent()).toEqual(Array(4).fill(limiters.asked))
  })

  test('R31: are decided through cuts of the connection, each costing one extra charge at most', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const limiters = new Limiters(redisStore(client.redis))
    await eventually(() => limiters.areServed())
    const cuts = 5
    await limiters.consumeDuring(async () => {
      for (let cut = 0; cut < cuts; cut++) {
        at.link.cut()
        await eventually(() => client.isReady() && at.link.connections === cut + 2)
        await sleep(20)
      }
    })
    await eventually(() => limiters.areServed(), { withinMs: 1000 })
    expect(limiters.wrong).toEqual([])
    const most = limiters.asked + (kind.resends ? cuts : 0)
    for (const spent of await limiters.spent()) expect(spent).toBeLessThanOrEqual(most)
  })

  test('R31: are decided while Redis crashes and comes back empty', async () => {
    await using at = await place()
    await using client = await connected(kind, at.server.port)
    const limiters = new Limiters(redisStore(client.redis))
    await eventually(() => limiters.areServed())
    for (let crash = 0; crash < 2; crash++) {
      await limiters.consumeDuring(async () => {
        await at.server.restart()
        await eventually(() => client.isReady(), { withinMs: 20_000 })
      })
      await eventually(() => limiters.areServed(), { withinMs: 1000 })
    }
    expect(limiters.wrong).toEqual([])
    expect(await withoutTtl(at.server)).toEqual([])
  })

  test('R31: are each executed once, hundreds at a time, though the server knows no script', async () => {
    await using at = await place()
    await using client = await connected(kind, at.server.port)
    const limiter = createRateLimiter({
      store: redisStore(client.redis),
      policy: fixedWindow({ limit: 10, windowMs: 600_000 }),
      timeoutMs: 10_000,
      denyCacheMs: 0,
    })
    const subjects = 25
    for (let round = 0; round < 3; round++) {
      await at.server.command('SCRIPT', 'FLUSH')
      const calls = Array.from({ length: 16 * subjects }, (_, call) =>
        limiter.consume(`${round}:${call % subjects}`),
      )
      const decisions = await Promise.all(calls)
      expect(decisions.filter(({ source }) => source !== 'store')).toEqual([])
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10 * subjects)
    }
  })

  test('R9: peek, and agree with the next consume, after SCRIPT FLUSH', async () => {
    await using at = await place()
    await using client = await connected(kind, at.server.port)
    const limiter = createRateLimiter({
      store: redisStore(client.redis),
      policy: fixedWindow({ limit: 2, windowMs: 600_000 }),
      denyCacheMs: 0,
    })
    for (const allowed of [true, true, false]) {
      await at.server.command('SCRIPT', 'FLUSH')
      const before = await contents(at.server)
      const peeked = await limiter.peek('k')
      expect(await contents(at.server)).toEqual(before)
      const consumed = await limiter.consume('k')
      expect([peeked.allowed, consumed.allowed]).toEqual([allowed, allowed])
      expect(peeked.remaining - consumed.remaining).toBe(allowed ? 1 : 0)
    }
  })
})
