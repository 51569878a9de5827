import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Begun,
  createIdempotency,
  type Execution,
  type Idempotency,
  redisStore,
  StoreUnavailableError,
} from '@sluice/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { Loss } from '../../support/flaky-link.ts'
import { type ClientKind, type Connection, clientKinds, ioredis } from '../rate-limit/clients.ts'
import { withoutTtl } from '../rate-limit/keys.ts'
import { type Place, place } from '../rate-limit/outages.ts'

const response = { status: 201, headers: [['location', '/orders/1']], body: 'made' } as const
const request = { key: 'order', fingerprint: 'x' }

let at: Place
/** Over a link on which nothing gets lost. */
let direct: Connection
let witness: Idempotency

beforeAll(async () => {
  at = await place()
  direct = ioredis.open(at.server.port)
  witness = createIdempotency({ store: redisStore(direct.redis), timeoutMs: 10_000 })
})
afterAll(async () => {
  await direct[Symbol.asyncDispose]()
  await at[Symbol.asyncDispose]()
})

describe.each(clientKinds)('a conversation over $name that loses one message', (kind) => {
  test('I13: begins once, or leaves the key free', async () => {
    await eachLoss(kind, {
      from: 'connecting',
      converse: (idempotency) => begin(idempotency),
      check: async (execution) => {
        if (execution) {
          expect(await witness.begin(request)).toMatchObject({ state: 'in-progress' })
          expect(await execution.complete(response)).toBe('settled')
        } else {
          const free = () => witness.inspect(request.key).then((record) => record === undefined)
          await eventually(free)
          const begun = await witness.begin(request)
          if (begun.state !== 'started') throw new Error(begun.state)
          await begun.execution.complete(response)
        }
        expect(await witness.begin(request)).toEqual({ state: 'replay', response })
      },
    })
  })

  test.each([
    ['complete', (execution: Execution) => execution.complete(response), 'completed'],
    ['bury', (execution: Execution) => execution.bury({ status: 200 }), 'tombstone'],
    ['abandon', (execution: Execution) => execution.abandon(), 'unknown'],
    ['release', (execution: Execution) => execution.release(), undefined],
  ] as const)('I14: %s takes effect, at once or soon', async (_, settle, state) => {
    await eachLoss(kind, {
      from: 'connected',
      prepare: begin,
      converse: async (_idempotency, execution) => {
        const reply = await settle(execution as Execution).catch(unavailable)
        expect(reply).toSatisfy((word) => word === 'settled' || word === undefined)
        return execution
      },
      check: async (execution) => {
        expect(execution).toBeDefined()
        await eventually(async () => (await witness.inspect(request.key))?.state === state)
      },
    })
  })

  test('I12: is renewed nevertheless, and its signal is not aborted', async () => {
    const leaseMs = 1200
    await eachLoss(kind, {
      from: 'connected',
      leaseMs,
      prepare: begin,
      converse: async (_idempotency, execution) => {
        const endsAt = performance.now() + 1.3 * leaseMs
        while (performance.now() < endsAt) {
          expect(await witness.inspect(request.key)).toMatchObject({ state: 'claimed' })
          await sleep(50)
        }
        return execution
      },
      check: async (execution) => {
        expect(execution?.signal.aborted).toBe(false)
        // The client may still be busy with its new connection.
        const settled = () => execution?.complete(response).catch(unavailable)
        await eventually(async () => (await settled()) === 'settled')
      },
    })
  })
})

interface Conversation {
  /** Losses count from here. */
  readonly from: 'connecting' | 'connected'
  readonly leaseMs?: number
  readonly prepare?: (idempotency: Idempotency) => Promise<Execution | undefined>
  readonly converse: (
    idempotency: Idempotency,
    execution: Execution | undefined,
  ) => Promise<Execution | undefined>
  readonly check: (execution: Execution | undefined) => Promise<void>
}

/** Has the same conversation again and again, and loses another of its messages each time: a request, then a reply. */
async function eachLoss(kind: ClientKind, conversation: Conversation): Promise<void> {
  const undisturbed = await converse(kind, conversation)
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
  { from, leaseMs = 30_000, prepare, converse, check }: Conversation,
  lose?: () => Loss,
): Promise<number> {
  await at.server.command('FLUSHALL')
  if (from === 'connecting') await at.server.command('SCRIPT', 'FLUSH')
  let before = at.link.requests()
  let loss = from === 'connecting' ? lose?.() : undefined
  await using client = kind.open(at.link.port)
  const store = redisStore(client.redis)
  const idempotency = createIdempotency({ store, leaseMs })
  if (from === 'connected') await eventually(() => client.isReady())
  const execution = await prepare?.(idempotency)
  if (from === 'connected') {
    await at.server.command('SCRIPT', 'FLUSH')
    before = at.link.requests()
    loss = lose?.()
  }
  const result = await converse(idempotency, execution)
  const messages = at.link.requests() - before
  await loss?.happened
  await check(result)
  await store.close()
  return messages
}

async function begin(idempotency: Idempotency): Promise<Execution | undefined> {
  const begun: Begun | undefined = await idempotency.begin(request).catch(unavailable)
  if (begun && begun.state !== 'started') throw new Error(begun.state)
  return begun?.execution
}

function unavailable(error: unknown): undefined {
  expect(error).toBeInstanceOf(StoreUnavailableError)
}
