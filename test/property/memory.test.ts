import { memoryStore } from '@sluice/core'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { ModelLimiter } from './model-limiter.ts'
import { museum } from './museum.ts'
import { playerOf, replay } from './replay.ts'
import { algorithms, extreme, type Trace, traces, tracesOfSeveral } from './traces.ts'

describe('R1, R2, R3, R4, R7, R8, R9, R11: the memory store decides as the model does', () => {
  test.each(algorithms)('under a %s', async (algorithm) => {
    await check(traces(algorithm), 400)
  })

  test.each(algorithms)('under a %s of extreme numbers', async (algorithm) => {
    await check(traces(algorithm, extreme), 200)
  })

  test.each(museum)('%s', async (_, trace) => {
    await decidesAlike(trace)
  })

  test('under several policies at once', async () => {
    await check(tracesOfSeveral(), 400)
  })
})

async function check(arbitrary: fc.Arbitrary<Trace>, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(arbitrary, decidesAlike)
  await fc.assert(property, { numRuns: Number(process.env['RUNS'] ?? numRuns) })
}

async function decidesAlike(trace: Trace): Promise<void> {
  const clock = { now: 0 }
  const store = memoryStore({ now: () => clock.now })
  const actual = playerOf(store.rateLimit, 'subject')
  await replay(trace, { clock, expected: new ModelLimiter(), actual })
  await store.close()
}
