import { randomUUID } from 'node:crypto'
import {
  createRateLimiter,
  type Decision,
  fixedWindow,
  type Policy,
  type RateLimiter,
  redisStore,
  type Store,
  slidingWindow,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { WithIncrex } from './increx.ts'
import { LONG_MS } from './rate-limit/cases.ts'
import { decide, passing } from './rate-limit/rig.ts'
import { rateLimitStoreContract } from './rate-limit-store.ts'
import { serverClock } from './server-clock.ts'

const redis = new Redis(inject('redisPort'))
beforeAll(() => () => redis.disconnect())

const threeAnHour = fixedWindow({ limit: 3, windowMs: LONG_MS })

function limiter(store: Store, policy: Policy = threeAnHour): RateLimiter {
  const options = { denyCacheMs: 0, timeoutMs: 10_000, onStoreFailure: 'closed' } as const
  return createRateLimiter({ name: 'native', policy, store, ...options })
}

/** A store that has found out what its server can do. */
async function settled(client: WithIncrex, prefix = `native:${randomUUID()}`): Promise<Store> {
  const store = redisStore(client, { prefix })
  onTestFinished(() => store.close())
  await eventually(async () => {
    await limiter(store).consume(randomUUID())
    return client.decided > 0
  })
  return store
}

describe('R14: where the server has INCREX', () => {
  rateLimitStoreContract({
    name: 'as documented',
    algorithms: ['fixed-window'],
    makeStore: () => settled(new WithIncrex(redis)),
    ...serverClock(redis),
  })

  test('it decides single fixed windows, with cost', async () => {
    const client = new WithIncrex(redis)
    const store = await settled(client)
    const before = client.decided
    expect(await decide(limiter(store), 'a', 2)).toBe(true)
    expect(await decide(limiter(store), 'a', 2)).toBe(false)
    expect(await decide(limiter(store), 'a', 1)).toBe(true)
    expect(client.decided - before).toBe(3)
  })

  test('scripts decide everything else', async () => {
    const client = new WithIncrex(redis)
    const store = await settled(client)
    const before = client.decided
    const both = createRateLimiter({
      name: 'two',
      store,
      policy: [threeAnHour, fixedWindow({ name: 'day', limit: 3, windowMs: 24 * LONG_MS })],
    })
    expect(await passing(both, 'a', 5)).toBe(3)
    const sliding = slidingWindow({ limit: 3, windowMs: LONG_MS })
    expect(await passing(limiter(store, sliding), 'b', 5)).toBe(3)
    expect(client.decided).toBe(before)
  })

  test('decisions are those of the script, call by call', async () => {
    const scripts = redisStore(redis, { prefix: `native:${randomUUID()}` })
    onTestFinished(() => scripts.close())
    const natives = await settled(new WithIncrex(redis))
    const costs = [1, 3, 1, 2, 1, 4, 1]
    for (const cost of costs) {
      const [scripted, native] = await Promise.all(
        [scripts, natives].map((store) => limiter(store).consume('a', { cost })),
      )
      expect(timeless(native)).toEqual(timeless(scripted))
    }
    for (const store of [scripts, natives]) await limiter(store).refund('a', 2)
    expect(await passing(limiter(natives), 'a', 5)).toBe(await passing(limiter(scripts), 'a', 5))
  })

  test('a lost TTL heals on the next call, and a shortened window takes effect on it', async () => {
    const prefix = `native:${randomUUID()}`
    const store = await settled(new WithIncrex(redis), prefix)
    expect(await passing(limiter(store), 'a', 5)).toBe(3)
    const [key = ''] = await redis.keys(`${prefix}:rate-limit:{a}*`)
    await redis.persist(key)
    expect(await decide(limiter(store), 'a')).toBe(false)
    expect(await redis.pttl(key)).toBeGreaterThan(0)
    const shorter = limiter(store, fixedWindow({ limit: 3, windowMs: 500 }))
    expect((await shorter.consume('a')).retryAfterMs).toBeLessThanOrEqual(500)
    expect(await redis.pttl(key)).toBeLessThanOrEqual(500)
    await redis.del(key)
  })

  test('a key that holds something else is the business of the script', async () => {
    const prefix = `native:${randomUUID()}`
    const store = await settled(new WithIncrex(redis), prefix)
    await decide(limiter(store), 'spoilt')
    const [key = ''] = await redis.keys(`${prefix}:rate-limit:{spoilt}*`)
    for (const spoil of [() => redis.set(key, 'x'), () => redis.rpush(key, 'x')]) {
      await redis.del(key)
      await spoil()
      expect(await passing(limiter(store), 'spoilt', 5)).toBe(3)
      expect(await redis.pttl(key)).toBeGreaterThan(0)
    }
    await redis.del(key)
  })

  test('a server that loses the command, as after a failover, is asked by script in the same call', async () => {
    const client = new WithIncrex(redis)
    const store = await settled(client)
    expect(await decide(limiter(store), 'a')).toBe(true)
    client.shape = () => {
      throw new Error("ERR unknown command 'INCREX', with args beginning with: ")
    }
    // The stand-in has counted before it says so, as no server does: two are left of three.
    expect(await decide(limiter(store), 'a')).toBe(true)
    const { decided } = client
    expect(await passing(limiter(store), 'b', 5)).toBe(3)
    expect(client.decided).toBe(decided)
  })
})

describe('R14: where INCREX replies in another shape, scripts decide', () => {
  test.each<[string, (reply: readonly number[]) => unknown]>([
    ['one number', ([value]) => value],
    ['text', (reply) => reply.map(String)],
    ['three numbers', (reply) => [...reply, 0]],
    ['one number in a list', ([value]) => [value]],
    ['nothing', () => null],
    ['truth', ([value, applied]) => [value, applied !== 0]],
    ['fractions', ([value, applied]) => [Number(value) + 0.5, applied]],
    ['a map', ([value, applied]) => ({ value, applied })],
    [
      'the bound, where it refuses',
      ([value, applied]) => (applied === 0 ? [3, 1] : [value, applied]),
    ],
    ['a number that is not 0, where it refuses', ([value]) => [value, 1]],
    ['the old value', ([value, applied]) => [Number(value) - Number(applied), applied]],
  ])('%s', async (_, shape) => {
    const client = new WithIncrex(redis)
    client.shape = shape
    await expectScripts(client)
  })

  test('an error', async () => {
    const client = new WithIncrex(redis)
    client.shape = () => {
      throw new Error('ERR syntax error')
    }
    await expectScripts(client)
  })

  test('a shape that changes later', async () => {
    const client = new WithIncrex(redis)
    const store = await settled(client)
    client.shape = ([value]) => value
    // This call's outcome is uncertain, so it is not repeated.
    expect(await limiter(store).consume('a')).toMatchObject({ source: 'closed' })
    const { decided } = client
    expect(await passing(limiter(store), 'b', 5)).toBe(3)
    expect(client.decided).toBe(decided)
  })
})

/** Lets the store look at what the command replies, and checks that it never decides. */
async function expectScripts(client: WithIncrex): Promise<void> {
  const store = redisStore(client, { prefix: `native:${randomUUID()}` })
  onTestFinished(() => store.close())
  for (let round = 0; round < 10; round++)
    expect(await passing(limiter(store), `subject ${round}`, 5)).toBe(3)
  expect(client.decided).toBe(0)
}

/** A decision without the milliseconds that passed between two. */
function timeless(decision: Decision | undefined): unknown {
  const near = (ms: number) => (Number.isFinite(ms) ? Math.round(ms / 60_000) : String(ms))
  return JSON.parse(
    JSON.stringify(decision, (name, value: unknown) =>
      name.endsWith('Ms') ? near(Number(value)) : value,
    ),
  )
}
