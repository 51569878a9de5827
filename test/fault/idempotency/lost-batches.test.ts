import {
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

/** Asked for in one turn, and so by one script; one of them twice. */
const keys = ['a', 'b', 'b', 'c']
const answerTo = (key: string) => ({ status: 201, headers: [], body: `made ${key}` }) as const

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

describe.each(clientKinds)('requests that travel together over $name', (kind) => {
  test('I1, I13, I14: each runs once and is settled, or leaves its key free, whichever message is lost', async () => {
    const undisturbed = await converse(kind)
    // One script for all that is claimed and one for all that is settled, each sent again with its source.
    expect(undisturbed).toBe(4)
    for (let nth = 1; nth <= undisturbed; nth++) {
      for (const lose of [() => at.link.dropRequest(nth), () => at.link.dropReply(nth)]) {
        await converse(kind, lose)
        expect(await withoutTtl(at.server)).toEqual([])
      }
    }
  })
})

/** With a server that knows no script yet; returns the number of messages. */
async function converse(kind: ClientKind, lose?: () => Loss): Promise<number> {
  await at.server.command('FLUSHALL')
  await using client = kind.open(at.link.port)
  const store = redisStore(client.redis)
  const idempotency = createIdempotency({ store })
  await eventually(() => client.isReady())
  await at.server.command('SCRIPT', 'FLUSH')
  const before = at.link.requests()
  const loss = lose?.()
  const begun = await Promise.all(keys.map((key) => begin(idempotency, key)))
  await Promise.all(
    begun.map(async (execution, index) => {
      const reply = await execution?.complete(answerTo(keys[index] ?? '')).catch(unavailable)
      expect(reply).toSatisfy((word) => word === 'settled' || word === undefined)
    }),
  )
  const messages = at.link.requests() - before
  await loss?.happened
  for (const key of new Set(keys)) {
    const started = begun.filter((execution, index) => execution && keys[index] === key)
    expect(started.length).toBeLessThanOrEqual(1)
    await check(key, started.length === 1)
  }
  await store.close()
  return messages
}

async function check(key: string, hasStarted: boolean): Promise<void> {
  if (!hasStarted) {
    await eventually(async () => (await witness.inspect(key)) === undefined)
    await (await begin(witness, key))?.complete(answerTo(key))
  }
  const response = answerTo(key)
  await eventually(async () => (await witness.inspect(key))?.state === 'completed')
  expect(await witness.begin({ key, fingerprint: key })).toEqual({ state: 'replay', response })
}

/** Undefined when another one runs it, or nobody knows. */
async function begin(idempotency: Idempotency, key: string): Promise<Execution | undefined> {
  const begun = await idempotency.begin({ key, fingerprint: key }).catch(unavailable)
  if (begun === undefined || begun.state === 'in-progress') return undefined
  if (begun.state !== 'started') throw new Error(begun.state)
  return begun.execution
}

function unavailable(error: unknown): undefined {
  expect(error).toBeInstanceOf(StoreUnavailableError)
}
