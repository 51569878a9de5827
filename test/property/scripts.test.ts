import { memoryStore, redisStore } from '@sluice/core'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { ClockedRedis } from '../contract/clocked-redis.ts'
import { ModelLimiter } from './model-limiter.ts'
import { museum } from './museum.ts'
import { type Player, playerOf, replay, type Stage } from './replay.ts'
import { algorithms, extreme, type Trace, traces, tracesOfSeveral } from './traces.ts'

const redis = new Redis(inject('redisPort'))
afterAll(() => redis.disconnect())

describe('R1, R2, R3, R4, R6, R7, R8, R9, R11: the scripts in Redis decide as the model does, and leave no key without a TTL', () => {
  const model = () => ({ expected: new ModelLimiter() })

  test.each(algorithms)('under a %s', async (algorithm) => {
    await check(traces(algorithm), 150, model)
  })

  test.each(algorithms)('under a %s of extreme numbers', async (algorithm) => {
    await check(traces(algorithm, extreme), 100, model)
  })

  test.each(museum)('%s', async (_, trace) => {
    await decidesAlike(trace, model)
  })

  test('under several policies at once', async () => {
    await check(tracesOfSeveral(), 100, model)
  })
})

describe('R11: the scripts and the memory store decide alike, whatever changes under a name', () => {
  test('under several policies at once', async () => {
    await check(tracesOfSeveral(), 150, (clock) => ({ expected: inMemory(clock), rates: 'change' }))
  })
})

/** Whom the scripts are compared with, on one clock. */
type Rival = (clock: { readonly now: number }) => Pick<Stage, 'expected' | 'rates'>

function inMemory(clock: { readonly now: number }): Player {
  return playerOf(memoryStore({ now: () => clock.now }).rateLimit, 'subject')
}

describe('R6: a counter that lost its TTL', () => {
  test('heals on the next call that may change something, whatever came before', async () => {
    const property = fc.asyncProperty(tracesOfSeveral(), async (trace) => {
      const clock = { now: 1_800_000_000_000 }
      const { client, player } = inRedis(clock)
      let last: ReturnType<Player['consume']>
      const forgetful: Player = {
        ...player,
        async consume(...call) {
          await client.persistAll()
          last = player.consume(...call)
          return last
        },
        async refund(...call) {
          await client.persistAll()
          await player.refund(...call)
        },
      }
      const echo: Player = { ...player, consume: () => last, refund: () => {} }
      const check = async () => expect(await client.keysWithoutTtl()).toEqual([])
      // Without a TTL a log may lie for ever, but it knows its times only modulo 34 years.
      const endOfTime = clock.now + 30 * 365 * 86_400_000
      await replay(trace, { clock, endOfTime, expected: forgetful, actual: echo, check })
      await client.clear()
    })
    await fc.assert(property, { numRuns: runs(100) })
  })
})

async function check(
  arbitrary: fc.Arbitrary<Trace>,
  numRuns: number,
  against: Rival,
): Promise<void> {
  const property = fc.asyncProperty(arbitrary, (trace) => decidesAlike(trace, against))
  await fc.assert(property, { numRuns: runs(numRuns) })
}

async function decidesAlike(trace: Trace, against: Rival): Promise<void> {
  const clock = { now: 1_800_000_000_000 }
  const { client, player } = inRedis(clock)
  await replay(trace, {
    ...against(clock),
    clock,
    actual: player,
    check: async () => expect(await client.keysWithoutTtl()).toEqual([]),
  })
  await client.clear()
}

function inRedis(clock: { readonly now: number }): { client: ClockedRedis; player: Player } {
  const prefix = `scripts:${crypto.randomUUID()}`
  const client = new ClockedRedis(redis, `${prefix}-books`, () => clock.now)
  return { client, player: playerOf(redisStore(client, { prefix }).rateLimit, 'subject') }
}

/** `RUNS=5000` searches longer. */
function runs(usual: number): number {
  return Number(process.env['RUNS'] ?? usual)
}
