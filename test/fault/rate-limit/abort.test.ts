import { getEventListeners } from 'node:events'
import { createRateLimiter, fixedWindow, redisStore } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { clientKinds, connected, ioredis } from './clients.ts'
import { inTime } from './modes.ts'
import { place } from './outages.ts'

const policy = fixedWindow({ limit: 100, windowMs: 600_000 })

describe.each(clientKinds)('an aborted call over $name', (kind) => {
  test('R31: rejects at once with the reason, and is charged once at most', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const limiter = createRateLimiter({ store: redisStore(client.redis), policy })
    await limiter.consume('k')
    at.link.stall()
    const { signal, abort } = aborting()
    const [aborted, other] = [limiter.consume('k', { signal }), limiter.consume('k')]
    await eventually(async () => (await at.server.command('GET', await onlyKey(at))) === '3')
    abort(new Error('the caller left'))
    await expect(aborted).rejects.toThrow('the caller left')
    expect(getEventListeners(signal, 'abort')).toEqual([])
    at.link.resume()
    expect(await other).toMatchObject({ source: 'store', remaining: 97 })
    expect(await limiter.peek('k')).toMatchObject({ remaining: 97 })
  })

  test('R31: says nothing of the store: not even a hundred of them open the circuit', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const limiter = createRateLimiter({ store: redisStore(client.redis), policy })
    await limiter.consume('k')
    at.link.stall()
    const callers = Array.from({ length: 100 }, aborting)
    const calls = callers.map(({ signal }) => limiter.consume('other', { signal }))
    for (const { abort } of callers) abort(new Error('the caller left'))
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.map(({ status }) => status)).toEqual(Array(100).fill('rejected'))
    at.link.resume()
    expect(await limiter.consume('k')).toMatchObject({ source: 'store' })
  })

  test.each([
    ['a closed', 0],
    ['an open', 8],
  ])(
    'R31: rejects with the reason, not with the failure that came first (%s circuit)',
    async (_state, failures) => {
      await using at = await place()
      await using client = await connected(kind, at.link.port)
      const limiter = createRateLimiter({ store: redisStore(client.redis), policy })
      at.server.pause()
      await Promise.all(Array.from({ length: failures }, () => inTime(limiter.consume('k'))))
      const { signal, abort } = aborting()
      const call = limiter.consume('k', { signal })
      abort(new Error('the caller left'))
      await expect(call).rejects.toThrow('the caller left')
      await expect(limiter.consume('k', { signal })).rejects.toThrow('the caller left')
    },
  )
})

test('R31: a call that its signal outlives leaves no listener on it', async () => {
  await using at = await place()
  await using client = await connected(ioredis, at.link.port)
  const limiter = createRateLimiter({ store: redisStore(client.redis), policy })
  const { signal } = aborting()
  expect(await limiter.consume('k', { signal })).toMatchObject({ source: 'store' })
  at.server.pause()
  expect(await limiter.consume('k', { signal })).toMatchObject({ source: 'local' })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

function aborting() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) }
}

async function onlyKey(at: Awaited<ReturnType<typeof place>>): Promise<string> {
  const [key] = (await at.server.command('KEYS', '*')) as [string]
  return key
}
