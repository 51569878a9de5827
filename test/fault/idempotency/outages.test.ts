import {
  createIdempotency,
  type Execution,
  type Idempotency,
  type IdempotencyEvent,
  redisStore,
  StoreUnavailableError,
  subscribe,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisSentinel } from '../../support/redis-sentinel.ts'
import { type Connection, clientKinds, connection } from '../rate-limit/clients.ts'
import { withoutTtl } from '../rate-limit/keys.ts'
import { inTime } from '../rate-limit/modes.ts'
import { outages, place } from '../rate-limit/outages.ts'

const response = { status: 201, headers: [], body: 'made' }

describe.each(outages)('a Redis that is $name', (outage) => {
  test.each(clientKinds)(
    'I14, I16: answers within the deadline, and keeps what was under way as safe as the data is ($name)',
    async ({ open }) => {
      await using at = await place(outage)
      await using client = open(at.link.port)
      await eventually(() => client.isReady())
      const idempotency = createIdempotency({ store: redisStore(client.redis) })
      const running = await begun(idempotency, 'running')
      const finishing = await begun(idempotency, 'finishing')

      await outage.begin(at)
      const calls: readonly Promise<unknown>[] = [
        finishing.complete(response),
        idempotency.begin({ key: 'new', fingerprint: 'x' }),
        idempotency.begin({ key: 'newer', fingerprint: 'x', waitMs: 60_000 }),
        idempotency.inspect('finishing'),
        idempotency.confirm('finishing', response),
        idempotency.release('finishing'),
      ]
      await Promise.all(calls.map((call) => readsMayPass(inTime(call))))

      await outage.end(at)
      await eventually(() => client.isReady(), { withinMs: 20_000 })
      await eventually(() => isFree(idempotency, 'new'), { withinMs: 10_000 })
      await eventually(() => isFree(idempotency, 'newer'), { withinMs: 10_000 })
      const empty = (await idempotency.inspect('running')) === undefined
      expect(empty).toBe(outage.name.includes('empty'))
      expect(await running.complete(response)).toBe(empty ? 'refused' : 'settled')
      if (!empty) {
        const settled = async () => (await idempotency.inspect('finishing'))?.state === 'completed'
        await eventually(settled, { withinMs: 10_000 })
      }
      expect(await withoutTtl(at.server)).toEqual([])
    },
  )
})

test.each(clientKinds)(
  'I13: a claim that was called off while it was under way leaves no key behind ($name)',
  async ({ open }) => {
    await using at = await place()
    await using client = open(at.link.port)
    await eventually(() => client.isReady())
    const idempotency = createIdempotency({ store: redisStore(client.redis), timeoutMs: 10_000 })
    await (await begun(idempotency, 'warm')).release()
    at.link.stall()
    const controller = new AbortController()
    const call = idempotency.begin({ key: 'k', fingerprint: 'x', signal: controller.signal })
    const key = 'sluice:idempotency:{:k}'
    await eventually(async () => (await at.server.command('EXISTS', key)) === 1)
    controller.abort(new Error('called off'))
    await expect(call).rejects.toThrow('called off')
    at.link.resume()
    await eventually(() => isFree(idempotency, 'k'))
  },
)

test('I14: what an owner could not store until its lease was over stays unknown, and an event says so', async () => {
  await using at = await place()
  await using client = clientKinds[0]?.open(at.link.port) as Connection
  const events: IdempotencyEvent[] = []
  const stop = subscribe('sluice:idempotency', (event) => events.push(event))
  const idempotency = createIdempotency({ store: redisStore(client.redis), leaseMs: 1500 })
  const execution = await begun(idempotency, 'k')
  at.link.refuse()
  at.link.cut()
  await expect(execution.complete(response)).rejects.toThrow(StoreUnavailableError)
  await eventually(() => events.some(({ type }) => type === 'settlement-retried'))
  expect(events).toMatchObject([
    { type: 'settlement-delayed', settlement: 'completed' },
    { type: 'settlement-retried', outcome: 'lost' },
  ])
  stop()
})

test('I11, I14: a Redis that was restarted with its data goes on where it was', async () => {
  await using at = await place({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
  await using client = clientKinds[0]?.open(at.link.port) as Connection
  const idempotency = createIdempotency({ store: redisStore(client.redis), onUnknown: 'rerun' })
  const execution = await begun(idempotency, 'k')
  await at.server.restart()
  const completed = () => execution.complete(response).catch(() => false)
  await eventually(async () => (await completed()) === 'settled')
  expect(await idempotency.begin({ key: 'k', fingerprint: 'x' })).toEqual({
    state: 'replay',
    response,
  })
})

test('I11: a failover keeps what was replicated, and fences go on rising', async () => {
  await using site = await RedisSentinel.start()
  const redis = new Redis({ name: site.name, sentinels: site.addresses })
  await using client = connection(redis)
  const idempotency = createIdempotency({ store: redisStore(client.redis), timeoutMs: 3000 })
  const kept = await begun(idempotency, 'kept')
  const done = await begun(idempotency, 'done')
  const freed = await begun(idempotency, 'freed')
  await done.complete(response)
  await freed.release()
  expect(await redis.wait(1, 5000)).toBe(1)
  await site.failover()
  const settled = () => kept.complete(response).catch(() => false)
  await eventually(async () => (await settled()) === 'settled', { withinMs: 20_000 })
  expect(await idempotency.begin({ key: 'done', fingerprint: 'x' })).toEqual({
    state: 'replay',
    response,
  })
  expect((await begun(idempotency, 'freed')).fence).toBeGreaterThan(freed.fence)
})

async function begun(idempotency: Idempotency, key: string): Promise<Execution> {
  const reply = await idempotency.begin({ key, fingerprint: 'x' })
  if (reply.state !== 'started') throw new Error(`${key} is ${reply.state}`)
  return reply.execution
}

/** Claims, and gives back at once; no claim that failed may stand in its way for long. */
async function isFree(idempotency: Idempotency, key: string): Promise<boolean> {
  const reply = await idempotency.begin({ key, fingerprint: 'x' })
  if (reply.state !== 'started') return false
  await reply.execution.release()
  return true
}

/** Servers that only refuse writes still tell what they know. */
async function readsMayPass(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnavailableError))
}
