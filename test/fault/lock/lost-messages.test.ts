import {
  createLocker,
  type Lease,
  type Locker,
  redisStore,
  StoreUnavailableError,
} from '@sluice/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { Loss } from '../../support/flaky-link.ts'
import { type ClientKind, type Connection, clientKinds, ioredis } from '../rate-limit/clients.ts'
import { withoutTtl } from '../rate-limit/keys.ts'
import { type Place, place } from '../rate-limit/outages.ts'

const key = 'order'
const LEASE_MS = 5000

let at: Place
/** Over a link on which nothing gets lost. */
let direct: Connection
let witness: Locker

beforeAll(async () => {
  at = await place()
  direct = ioredis.open(at.server.port)
  witness = createLocker({ store: redisStore(direct.redis) })
})
afterAll(async () => {
  await direct[Symbol.asyncDispose]()
  await at[Symbol.asyncDispose]()
})

describe.each(clientKinds)('a conversation over $name that loses one message', (kind) => {
  test.each([0, 2000])(
    'L3, L4: acquires once, or leaves the key free (waitMs: %d)',
    async (waitMs) => {
      await eachLoss(kind, {
        from: 'connecting',
        converse: (locker) => locker.acquire(key, { waitMs }).catch(unavailable),
        check: async (lease) => {
          await heldBy(lease, [key])
          await free()
        },
      })
    },
  )

  test('L3, L7: passes the key to the next caller once, or leaves it free', async () => {
    await eachLoss(kind, {
      from: 'connected',
      prepare: (locker) => locker.acquire(key, { waitMs: 500 }),
      converse: async (locker, first) => {
        const next = locker.acquire(key, { waitMs: 3000 }).catch(unavailable)
        await first?.release().catch(unavailable)
        const lease = await next
        if (lease && first) expect(lease.fence).toBeGreaterThan(first.fence)
        return lease
      },
      check: async (lease) => {
        await heldBy(lease, [key])
        await free()
      },
    })
  })

  test('L8: extends, or says that nobody knows; the lease is none the worse', async () => {
    await eachLoss(kind, {
      from: 'connected',
      prepare: (locker) => locker.acquire(key),
      converse: async (_locker, lease) => {
        await lease?.extend().catch(unavailable)
        return lease
      },
      check: async (lease) => {
        expect(lease?.remainingMs()).toBeGreaterThan(LEASE_MS / 2)
        expect(lease?.signal.aborted).toBe(false)
        expect(await witness.inspect(key)).toMatchObject({ fence: lease?.fence })
        expect(await settled(lease as Lease)).toBe(true)
        await free()
      },
    })
  })

  test('L10: releases, at once or soon', async () => {
    await eachLoss(kind, {
      from: 'connected',
      prepare: (locker) => locker.acquire(key),
      converse: async (_locker, lease) => {
        await lease?.release().catch(unavailable)
        return lease
      },
      check: () => free(),
    })
  })

  test('L3, L14: acquires several keys, or leaves all of them free', async () => {
    const keys = [`{${key}}:a`, `{${key}}:b`]
    await eachLoss(kind, {
      from: 'connecting',
      converse: (locker) => locker.acquire(keys, { waitMs: 2000 }).catch(unavailable),
      check: async (lease) => {
        await heldBy(lease, keys)
        for (const one of keys) await free(one)
      },
    })
  })
})

/** The lease of whoever got one is one, and is given back. */
async function heldBy(lease: Lease | undefined, keys: readonly string[]): Promise<void> {
  if (!lease) return
  for (const one of keys) expect(await witness.inspect(one)).toMatchObject({ fence: lease.fence })
  expect(await settled(lease)).toBe(true)
}

/** Nothing of the lease is left, soon, long before its end. */
async function free(one = key): Promise<void> {
  await eventually(async () => (await witness.inspect(one)) === undefined, { withinMs: 2000 })
  await using lease = await witness.acquire(one)
  expect(lease.fence).toBeGreaterThan(0)
}

/** Whether the release took effect, at once or soon: the client may still be busy with its new connection. */
async function settled(lease: Lease): Promise<boolean> {
  const outcome = await lease.release().catch(unavailable)
  return outcome === undefined || outcome === 'released'
}

interface Conversation {
  /** Losses count from here. */
  readonly from: 'connecting' | 'connected'
  readonly prepare?: (locker: Locker) => Promise<Lease | undefined>
  readonly converse: (locker: Locker, lease: Lease | undefined) => Promise<Lease | undefined>
  readonly check: (lease: Lease | undefined) => Promise<void>
}

/** Has the same conversation again and again, and loses another of its messages each time: a request, then a reply. */
async function eachLoss(kind: ClientKind, conversation: Conversation): Promise<void> {
  // On a machine that is busy a deadline may pass by itself, and what follows is no part of the conversation.
  const first = await converse(kind, conversation)
  const undisturbed = Math.min(first, await converse(kind, conversation))
  expect(undisturbed).toBeGreaterThan(0)
  for (let nth = 1; nth <= undisturbed; nth++) {
    for (const lose of [() => at.link.dropRequest(nth), () => at.link.dropReply(nth)]) {
      await converse(kind, conversation, lose)
      expect(await withoutTtl(at.server)).toEqual([])
    }
  }
}

/** With a server that knows no script yet; returns the number of messages. */
async function converse(
  kind: ClientKind,
  { from, prepare, converse, check }: Conversation,
  lose?: () => Loss,
): Promise<number> {
  await at.server.command('FLUSHALL')
  if (from === 'connecting') await at.server.command('SCRIPT', 'FLUSH')
  let before = at.link.requests()
  let loss = from === 'connecting' ? lose?.() : undefined
  await using client = kind.open(at.link.port)
  const store = redisStore(client.redis)
  const locker = createLocker({ store, leaseMs: LEASE_MS })
  if (from === 'connected') await eventually(() => client.isReady())
  const lease = await prepare?.(locker)
  if (from === 'connected') {
    await at.server.command('SCRIPT', 'FLUSH')
    before = at.link.requests()
    loss = lose?.()
  }
  const result = await converse(locker, lease)
  const messages = at.link.requests() - before
  await loss?.happened
  await check(result)
  await store.close()
  return messages
}

function unavailable(error: unknown): undefined {
  expect(error).toBeInstanceOf(StoreUnavailableError)
}
