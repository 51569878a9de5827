import {
  createRateLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  type Policy,
  type RateLimiter,
  redisStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import { describe, expect, test } from 'vitest'
import { type ClientKind, clientKinds, connected, ioredis } from './clients.ts'
import { withoutTtl } from './keys.ts'
import { type Place, place } from './outages.ts'

const LIMIT = 100
const MINUTE_MS = 60_000

describe.each(clientKinds)('subjects that travel together over $name', (kind) => {
  test('R31: are charged twice at most when the reply of all is lost', async () => {
    await using at = await place()
    await using asked = await limiterAt(at, kind)
    const loss = at.link.dropReply(1, 'EVALSHA')
    const decisions = await asked.consume(16)
    await loss.happened
    expect(sources(decisions)).toEqual([kind.resends ? 'store' : 'open'])
    expect(await asked.spent(16)).toEqual(Array(16).fill(kind.resends ? 2 : 1))
  })

  test('R31: are charged once when the request of all is lost, and the client resends', async () => {
    await using at = await place()
    await using asked = await limiterAt(at, kind)
    const loss = at.link.dropRequest(1, 'EVALSHA')
    const decisions = await asked.consume(16)
    await loss.happened
    expect(sources(decisions)).toEqual([kind.resends ? 'store' : 'open'])
    expect(await asked.spent(16)).toEqual(Array(16).fill(kind.resends ? 1 : 0))
  })

  test('R31: suffer only where the connection broke, between one batch and the next', async () => {
    await using at = await place()
    await using asked = await limiterAt(at, kind)
    const loss = at.link.dropReply(2, 'EVALSHA')
    const decisions = await asked.consume(48)
    await loss.happened
    const [answered, lost, unsent] = [0, 16, 32].map((at) => sources(decisions.slice(at, at + 16)))
    expect(answered).toEqual(['store'])
    for (const rest of [lost, unsent]) expect(rest).toEqual([kind.resends ? 'store' : 'open'])
    const spent = await asked.spent(48)
    expect(spent.slice(0, 16)).toEqual(Array(16).fill(1))
    expect(spent.slice(16, 32)).toEqual(Array(16).fill(kind.resends ? 2 : 1))
    expect(spent.slice(32)).toEqual(Array(16).fill(kind.resends ? 1 : 0))
  })
})

const policies: readonly Policy[] = [
  fixedWindow({ limit: LIMIT, windowMs: MINUTE_MS }),
  slidingWindow({ limit: LIMIT, windowMs: MINUTE_MS }),
  slidingLog({ limit: LIMIT, windowMs: MINUTE_MS }),
  tokenBucket({ capacity: LIMIT, refill: 1, refillMs: MINUTE_MS }),
  leakyBucket({ capacity: LIMIT, drain: 1, drainMs: MINUTE_MS }),
]

/** What somebody else may have put in the place of a key of ours. */
const foreign: Record<string, readonly string[]> = {
  list: ['RPUSH', 'a'],
  set: ['SADD', 'a'],
  hash: ['HSET', 'a', 'b'],
  text: ['SET', 'not ours'],
  'empty text': ['SET', ''],
}

describe.each(policies)('a key of $name that holds something foreign', (policy) => {
  test.each(Object.entries(foreign))(
    'R6, R31: is put right by the next call, and nobody else suffers (%s)',
    async (_type, [command = '', ...value]) => {
      await using at = await place()
      await using asked = await limiterAt(at, ioredis, policy)
      await asked.consume(1)
      const [key] = (await at.server.command('KEYS', '*rate-limit*')) as [string]
      await at.server.command('DEL', key)
      await at.server.command(command, key, ...value)
      const decisions = [...(await asked.consume(16)), ...(await asked.consume(16))]
      expect(decisions.filter(({ allowed, source }) => !allowed || source !== 'store')).toEqual([])
      const [spent, ...others] = new Set(await asked.spent(16))
      expect(spent).toBeGreaterThan(0)
      expect(others).toEqual([])
      await asked.limiter.refund('0', 1)
      await asked.limiter.reset('0')
      expect(await withoutTtl(at.server)).toEqual([])
    },
  )
})

/** A limiter over the link, connected, and the server knows its scripts. */
async function limiterAt(at: Place, kind: ClientKind, policy = policies[0] as Policy) {
  const client = await connected(kind, at.link.port)
  const direct = await connected(ioredis, at.server.port)
  const made = (redis: typeof client.redis): RateLimiter =>
    // A deadline that no reconnection can miss: what counts here are charges.
    createRateLimiter({
      store: redisStore(redis),
      policy,
      timeoutMs: 10_000,
      onStoreFailure: 'open',
    })
  const limiter = made(client.redis)
  const subjects = (count: number) => Array.from({ length: count }, (_, subject) => `${subject}`)
  await limiter.consume('warm')
  await limiter.reset('warm')
  return {
    limiter,
    consume: (count: number) =>
      Promise.all(subjects(count).map((subject) => limiter.consume(subject))),
    async spent(count: number) {
      const direct_ = made(direct.redis)
      const peeks = await Promise.all(subjects(count).map((subject) => direct_.peek(subject)))
      return peeks.map(({ limit, remaining }) => limit - remaining)
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      await direct[Symbol.asyncDispose]()
    },
  }
}

function sources(decisions: readonly Decision[]): readonly string[] {
  return [...new Set(decisions.map(({ source }) => source))]
}
