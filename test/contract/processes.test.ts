import type { Decision } from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { RedisServer } from '../support/redis-server.ts'
import type { Work } from './children/consumer.ts'
import { cases, LONG_MS } from './rate-limit/cases.ts'

const CONSUMER = new URL('children/consumer.ts', import.meta.url)

let server: RedisServer
let redis: Redis
/** Processes whose clocks are an hour apart, either way. */
let fleet: Child[]

beforeAll(async () => {
  server = await RedisServer.start()
  redis = new Redis(server.port)
  const clocks = [0, 3_600_000, -3_600_000]
  fleet = await Promise.all(
    clocks.map((clockOffsetMs) =>
      Child.start(CONSUMER, { args: [String(server.port)], clockOffsetMs }),
    ),
  )
  return async () => {
    redis.disconnect()
    await Promise.all(fleet.map((child) => child.kill()))
    await server[Symbol.asyncDispose]()
  }
}, 60_000)

describe.each(cases)(
  '$algorithm: processes whose clocks are an hour apart',
  ({ algorithm, fromIdle }) => {
    const work = (more: Partial<Work>): Work => ({
      algorithm,
      key: 'a',
      limit: 50,
      windowMs: 24 * LONG_MS,
      calls: 1,
      ...more,
    })

    test('R5: admit exactly the limit together, however many calls they send at once', async () => {
      const key = 'together'
      const answers = await Promise.all(
        fleet.map((child) => child.ask<Decision[]>(work({ key, calls: 100 }))),
      )
      const decisions = answers.flat()
      expect(decisions).toHaveLength(300)
      expect(decisions.every(({ source }) => source === 'store')).toBe(true)
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(fromIdle(50))
    })

    test('R5: one after the other, share one quota and one wait', async () => {
      const ask = async (child: Child | undefined, more: Partial<Work>) => {
        const [decision] = (await child?.ask<Decision[]>(work({ key: 'in turn', ...more }))) ?? []
        if (!decision) throw new Error('no decision')
        return decision
      }
      const [here, ahead, behind] = fleet
      expect(await ask(here, { cost: 20 })).toMatchObject({ allowed: true })
      expect(await ask(ahead, { cost: 20 })).toMatchObject({ allowed: true })
      expect(await ask(behind, { cost: 10 })).toMatchObject({ allowed: true })
      const refused = [
        await ask(here, { cost: 30 }),
        await ask(ahead, { cost: 30 }),
        await ask(behind, { cost: 30 }),
      ]
      for (const { allowed } of refused) expect(allowed).toBe(false)
      const waits = refused.map(({ retryAfterMs }) => retryAfterMs)
      // A few milliseconds passed between the first and the last; an hour did not.
      expect(Math.max(...waits) - Math.min(...waits)).toBeLessThan(60_000)
    })
  },
)

test('R6: processes that are killed in the middle of a load leave no key without a TTL', async () => {
  const started = await Promise.all(
    cases.map(async ({ algorithm }) => {
      const child = await Child.start(CONSUMER, { args: [String(server.port), 'killed'] })
      const load = { algorithm, key: algorithm, limit: 5, windowMs: LONG_MS, calls: Infinity }
      await child.ask(load satisfies Work)
      return child
    }),
  )
  const written = () => redis.keys('killed:*')
  await expect.poll(async () => (await written()).length, { timeout: 10_000 }).toBeGreaterThan(400)
  await Promise.all(started.map((child) => child.kill()))
  for (const key of await written()) expect(await redis.pttl(key)).toBeGreaterThan(0)
}, 60_000)
