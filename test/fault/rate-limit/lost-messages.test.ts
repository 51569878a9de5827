import {
  createRateLimiter,
  fixedWindow,
  type Policy,
  type RateLimiter,
  redisStore,
  StoreUnavailableError,
  slidingLog,
} from '@sluice/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type ClientKind, type Connection, clientKinds, ioredis } from './clients.ts'
import { withoutTtl } from './keys.ts'
import { type Place, place } from './outages.ts'

const LIMIT = 1000
const SPENT = 200
const fixed = fixedWindow({ limit: LIMIT, windowMs: 3_600_000 })
/** Gives back 64 entries a message. */
const log = slidingLog({ limit: LIMIT, windowMs: 3_600_000 })

let at: Place
/** To the server itself: nothing gets lost there. */
let direct: Connection

beforeAll(async () => {
  at = await place()
  direct = ioredis.open(at.server.port)
})

afterAll(async () => {
  await direct[Symbol.asyncDispose]()
  await at[Symbol.asyncDispose]()
})

describe.each(clientKinds)('a conversation over $name that loses one message', (kind) => {
  test('R31: charges a call once, and once more for a lost reply where the client resends', async () => {
    const [calls, cost] = [3, 5]
    const consume = async (limiter: RateLimiter) => {
      for (let call = 0; call < calls; call++)
        expect(await limiter.consume('k', { cost })).toMatchObject({ allowed: true })
    }
    for await (const { what, where } of losses(kind, fixed, consume, 'connecting')) {
      const charged = (await spent(fixed)) - SPENT
      const again = what === 'reply' && kind.resends ? 1 : 0
      expect(charged, where).toBeGreaterThanOrEqual((calls - (kind.resends ? 0 : 1)) * cost)
      expect(charged, where).toBeLessThanOrEqual((calls + again) * cost)
    }
  })

  test('R31: peeks without a change, or rejects', async () => {
    const peek = async (limiter: RateLimiter) => {
      const decision = await limiter.peek('k').catch(unavailable)
      if (decision) expect(decision.remaining).toBe(LIMIT - SPENT)
      else expect(kind.resends).toBe(false)
    }
    for await (const { where } of losses(kind, fixed, peek))
      expect(await spent(fixed), where).toBe(SPENT)
  })

  test.each([fixed, log])(
    'R31: refunds once, and once more for a lost reply where the client resends ($name)',
    async (policy) => {
      const [calls, cost] = [2, 70]
      const refund = async (limiter: RateLimiter) => {
        for (let call = 0; call < calls; call++) await limiter.refund('k', cost).catch(unavailable)
      }
      for await (const { what, where } of losses(kind, policy, refund)) {
        const back = SPENT - (await spent(policy))
        const again = what === 'reply' && kind.resends ? 1 : 0
        expect(back, where).toBeGreaterThanOrEqual(kind.resends ? calls * cost : 0)
        expect(back, where).toBeLessThanOrEqual(Math.min(SPENT, (calls + again) * cost))
      }
    },
  )

  test('R31: forgets everything at a reset, or rejects', async () => {
    const outcomes: boolean[] = []
    const reset = async (limiter: RateLimiter) => {
      const done = limiter.reset('k').then(() => true)
      outcomes.push((await done.catch(unavailable)) ?? false)
    }
    for await (const { where } of losses(kind, fixed, reset)) {
      const done = outcomes.at(-1)
      if (done) expect(await spent(fixed), where).toBe(0)
      else expect(kind.resends).toBe(false)
    }
  })
})

/**
 * Has the same conversation again and again, and loses another of its messages each time: as a request that never
 * arrives, then as a reply that never comes back.
 */
async function* losses(
  kind: ClientKind,
  policy: Policy,
  converse: (limiter: RateLimiter) => Promise<unknown>,
  from: 'connecting' | 'connected' = 'connected',
): AsyncGenerator<{ what: 'request' | 'reply'; where: string }> {
  const undisturbed = await conversation()
  for (let nth = 1; nth <= undisturbed; nth++) {
    for (const what of ['request', 'reply'] as const) {
      await conversation(() =>
        what === 'request' ? at.link.dropRequest(nth) : at.link.dropReply(nth),
      )
      yield { what, where: `${what} ${nth} of ${undisturbed}` }
      expect(await withoutTtl(at.server)).toEqual([])
    }
  }

  /** With a server that knows no script yet; returns the number of messages. */
  async function conversation(loss?: () => { happened: Promise<void> }): Promise<number> {
    await prepare(policy)
    let before = at.link.requests()
    let happened = from === 'connecting' ? loss?.().happened : undefined
    await using client = kind.open(at.link.port)
    if (from === 'connected') {
      await eventually(() => client.isReady())
      before = at.link.requests()
      happened = loss?.().happened
    }
    // A deadline that no reconnection can miss: what counts here are charges.
    await converse(limiterOf(policy, client))
    await happened
    return at.link.requests() - before
  }
}

async function prepare(policy: Policy): Promise<void> {
  await at.server.command('FLUSHALL')
  const limiter = limiterOf(policy, direct)
  await Promise.all(Array.from({ length: SPENT / 2 }, () => limiter.consume('k', { cost: 2 })))
  await at.server.command('SCRIPT', 'FLUSH')
}

async function spent(policy: Policy): Promise<number> {
  return LIMIT - (await limiterOf(policy, direct).peek('k')).remaining
}

function limiterOf(policy: Policy, { redis }: Connection): RateLimiter {
  return createRateLimiter({ store: redisStore(redis), policy, timeoutMs: 10_000 })
}

function unavailable(error: unknown): undefined {
  expect(error).toBeInstanceOf(StoreUnavailableError)
}
