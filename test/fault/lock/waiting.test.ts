import { setTimeout as sleep } from 'node:timers/promises'
import { createLocker, redisStore } from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { clientKinds, connected, ioredis } from '../rate-limit/clients.ts'
import { withoutTtl } from '../rate-limit/keys.ts'
import { place } from '../rate-limit/outages.ts'

/** A machine under load may be late by so much; a wait that is no wall limit is later. */
const LATE_MS = 400

describe.each(clientKinds)('a server that hangs, over $name', (kind) => {
  test('L3, L6: ends no wait later than waitMs, and has nothing left once it is back', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const store = redisStore(client.redis)
    const locker = createLocker({ store, timeoutMs: 2000 })
    await using witnesses = await connected(ioredis, at.server.port)
    const witness = createLocker({ store: redisStore(witnesses.redis) })
    const held = await locker.acquire('held')
    const inLine = locker.acquire('held', { waitMs: 1000 }).catch((error: unknown) => error)
    await eventually(async () => (await witness.inspect('held'))?.waiters === 1)
    await sleep(100) // until its answer has come

    at.link.stall()
    const startedAt = performance.now()
    const never = locker.acquire('free', { waitMs: 300 }).catch((error: unknown) => error)
    const polling = createLocker({ store, timeoutMs: 2000, handOver: false })
    const polled = polling.acquire('polled', { waitMs: 300 }).catch((error: unknown) => error)
    for (const outcome of [await never, await polled])
      expect(outcome).toMatchObject({ code: 'store-unavailable', reason: 'deadline' })
    expect(performance.now() - startedAt).toBeLessThan(300 + LATE_MS)
    // Its last answer was that the key is held: the server hung later than that.
    expect(await inLine).toMatchObject({ code: 'lock-timeout' })
    expect(performance.now() - startedAt).toBeLessThan(1000 + LATE_MS)

    at.link.resume()
    for (const key of ['free', 'polled'])
      await eventually(async () => (await witness.inspect(key)) === undefined, { withinMs: 1500 })
    await eventually(async () => (await witness.inspect('held'))?.waiters === 0)
    expect(await held.release()).toBe('released')
    expect(await withoutTtl(at.server)).toEqual([])
    await store.close()
  })

  test('L6, L11: keeps no caller who is aborted', async () => {
    await using at = await place()
    await using client = await connected(kind, at.link.port)
    const store = redisStore(client.redis)
    const locker = createLocker({ store, timeoutMs: 20_000 })
    at.link.stall()
    const controller = new AbortController()
    const { signal } = controller
    const asked = [
      locker.acquire('now', { signal }),
      locker.acquire('later', { signal, waitMs: 30_000 }),
      locker.acquire(['a', 'b'], { signal, waitMs: 30_000 }),
    ]
    const outcomes = Promise.allSettled(asked)
    await sleep(50)
    const abortedAt = performance.now()
    controller.abort('enough')
    for (const outcome of await outcomes)
      expect(outcome).toEqual({ status: 'rejected', reason: 'enough' })
    expect(performance.now() - abortedAt).toBeLessThan(LATE_MS)
    at.link.resume()
    await using witnesses = await connected(ioredis, at.server.port)
    const witness = createLocker({ store: redisStore(witnesses.redis) })
    for (const key of ['now', 'later', 'a', 'b'])
      await eventually(async () => (await witness.inspect(key)) === undefined, { withinMs: 1500 })
    await store.close()
  })

  test('L6: does not end the waits of those who stand in line already', async () => {
    await using at = await place()
    await using holders = await connected(ioredis, at.server.port)
    const holder = createLocker({ store: redisStore(holders.redis), leaseMs: 20_000 })
    await using client = await connected(kind, at.link.port)
    const store = redisStore(client.redis)
    const locker = createLocker({ store })
    const lease = await holder.acquire('k')
    const taken = locker.acquire('k', { waitMs: 20_000 })
    await eventually(async () => (await holder.inspect('k'))?.waiters === 1)
    at.link.refuse()
    at.link.cut()
    await sleep(1500)
    await lease.release()
    await at.link.accept()
    const next = await taken
    expect(next.fence).toBeGreaterThan(lease.fence)
    expect(await next.release()).toBe('released')
    await store.close()
  })
})
