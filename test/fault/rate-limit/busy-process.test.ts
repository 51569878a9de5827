import { createRateLimiter, fixedWindow, redisStore } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { type Connection, clientKinds, connected } from './clients.ts'
import { place } from './outages.ts'

const TIMEOUT_MS = 200

describe.each(clientKinds)(
  'a process that is busy for longer than its deadline, over $name',
  (kind) => {
    test.each([
      ['takes the replies that arrived meanwhile', () => new Promise(setImmediate)],
      ['does not blame the store for requests it had no time to send', () => {}],
    ])('R31: %s', async (_title, pass) => {
      await using at = await place()
      await using client = await connected(kind, at.server.port)
      const limiter = limiterOn(client)
      await limiter.consume('k')
      for (let round = 0; round < 3; round++) {
        const calls = Array.from({ length: 20 }, (_, subject) => limiter.consume(`${subject}`))
        await pass()
        block(2 * TIMEOUT_MS)
        for (const { source } of await Promise.all(calls)) expect(source).toBe('store')
      }
    })

    test('R31: still gives up on a store that says nothing', async () => {
      await using at = await place()
      await using client = await connected(kind, at.server.port)
      const limiter = limiterOn(client)
      await limiter.consume('k')
      at.server.pause()
      const calls = Array.from({ length: 10 }, (_, subject) => limiter.consume(`${subject}`))
      block(2 * TIMEOUT_MS)
      for (const decision of await Promise.all(calls)) expect(decision.source).toBe('local')
    })
  },
)

function limiterOn({ redis }: Connection) {
  return createRateLimiter({
    store: redisStore(redis),
    policy: fixedWindow({ limit: 100, windowMs: 600_000 }),
    timeoutMs: TIMEOUT_MS,
  })
}

/** Nothing else runs in this process for so long. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
