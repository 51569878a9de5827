import { redisStore, StoreUnavailableError, subscribe } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { clientKinds, connected, ioredis } from './clients.ts'
import { withoutTtl } from './keys.ts'
import { inTime, Limiters } from './modes.ts'
import { outages, place } from './outages.ts'

describe.each(outages)('a Redis that is $name', (outage) => {
  test.concurrent.each(clientKinds)(
    'R31: costs nobody a refusal, and decides again within a second ($name)',
    async (kind) => {
      await using at = await place(outage)
      await using client = await connected(kind, at.link.port)
      const limiters = new Limiters(redisStore(client.redis))
      await eventually(() => limiters.areServed())

      await outage.begin(at)
      for (const answers of await Promise.all([limiters.consume(), limiters.consume()]))
        expect(answers).toMatchObject(limiters.degraded)
      // Eight failures: the circuit is open, and nobody waits for a deadline any more.
      const requests = at.link.requests('EVALSHA')
      expect(await limiters.consume()).toMatchObject(limiters.degraded)
      for (const { limiter } of limiters.all)
        for (const call of [limiter.peek('k'), limiter.refund('k', 1), limiter.reset('k')])
          await expect(inTime<unknown>(call)).rejects.toThrow(StoreUnavailableError)
      expect(at.link.requests('EVALSHA')).toBe(requests)

      await outage.end(at)
      await eventually(() => client.isReady(), { withinMs: 20_000 })
      await eventually(() => limiters.areServed(), { withinMs: 1000 })
      expect(limiters.wrong).toEqual([])
      for (const spent of await limiters.spent()) expect(spent).toBeLessThanOrEqual(limiters.asked)
      expect(await withoutTtl(at.server)).toEqual([])
    },
  )
})

describe('a Redis that serves reads and refuses writes', () => {
  test.concurrent.each(
    outages.filter(({ name }) => /out of memory|read-only|without the replicas/.test(name)),
  )('R31: is asked nothing but probes until it takes writes again ($name)', async (outage) => {
    await using at = await place(outage)
    await using client = await connected(ioredis, at.link.port)
    const limiters = new Limiters(redisStore(client.redis))
    await eventually(() => limiters.areServed())
    await outage.begin(at)
    await Promise.all([limiters.consume(), limiters.consume()])
    const [scripts, all] = [at.link.requests('EVALSHA'), at.link.requests()]
    await eventually(() => at.link.requests() >= all + 5)
    expect(await limiters.consume()).toMatchObject(limiters.degraded)
    expect(at.link.requests('EVALSHA')).toBe(scripts)
  })
})

describe.each(clientKinds)('a store over $name', (kind) => {
  test('R31: closes its circuit by itself, so that no request has to find out', async () => {
    const [paused] = outages.filter(({ name }) => name.startsWith('paused'))
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const limiters = new Limiters(redisStore(client.redis))
    await eventually(() => limiters.areServed())
    const events: string[] = []
    using _ = disposing(subscribe('sluice:store', ({ type }) => events.push(type)))

    await paused?.begin(at)
    await Promise.all([limiters.consume(), limiters.consume()])
    await paused?.end(at)
    await eventually(() => events.includes('circuit-closed'), { withinMs: 1000 })
    expect(await limiters.areServed()).toBe(true)
    expect(events.filter((type) => type !== 'failure')).toEqual([
      'circuit-opened',
      'circuit-closed',
    ])
  })

  test('R31: rejects peek, refund and reset at their deadline while the circuit is not open yet', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const limiters = new Limiters(redisStore(client.redis))
    await eventually(() => limiters.areServed())
    const limiter = limiters.all[0]?.limiter
    at.server.pause()
    for (const call of [limiter?.peek('k'), limiter?.refund('k', 1), limiter?.reset('k')])
      await expect(inTime(Promise.resolve<unknown>(call))).rejects.toMatchObject({
        code: 'store-unavailable',
        reason: 'deadline',
      })
  })
})

function disposing(dispose: () => void): Disposable {
  return { [Symbol.dispose]: dispose }
}
