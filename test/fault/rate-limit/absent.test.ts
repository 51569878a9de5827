import { redisStore, StoreUnavailableError } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { clientKinds } from './clients.ts'
import { inTime, Limiters } from './modes.ts'
import { type Place, place } from './outages.ts'

const absences = [
  { name: 'refuses connections', begin: ({ link }: Place) => link.refuse() },
  { name: 'accepts connections and says nothing', begin: ({ link }: Place) => link.stall() },
  { name: 'closes connections as soon as they are made', begin: () => {} },
]

describe.each(absences)('an address that $name while the application starts', ({ begin }) => {
  test.concurrent.each(clientKinds)(
    'R30: is decided for as configured, and used within a second of its being up ($name)',
    async ({ open }) => {
      await using at = await place()
      begin(at)
      await at.server.kill()
      await using client = open(at.link.port)
      const limiters = new Limiters(redisStore(client.redis))
      const methods = limiters.all[0]?.limiter
      const [first, ...others] = await Promise.allSettled(
        [
          limiters.consume(),
          methods?.peek('k'),
          methods?.refund('k', 1),
          methods?.reset('k'),
          limiters.consume(),
        ].map((call) => inTime(Promise.resolve<unknown>(call))),
      )
      expect(first).toMatchObject({ value: limiters.degraded })
      expect(others.pop()).toMatchObject({ value: limiters.degraded })
      for (const other of others)
        expect(other).toMatchObject({ reason: expect.any(StoreUnavailableError) })

      await limiters.consumeDuring(async () => {
        await at.server.restart()
        await at.link.accept()
        at.link.resume()
        await eventually(() => client.isReady(), { withinMs: 20_000 })
      })
      await eventually(() => limiters.areServed(), { withinMs: 1000 })
      // No failure of the start is remembered.
      expect(await limiters.areServed()).toBe(true)
      expect(limiters.wrong).toEqual([])
      for (const spent of await limiters.spent()) expect(spent).toBeLessThanOrEqual(limiters.asked)
    },
  )
})
