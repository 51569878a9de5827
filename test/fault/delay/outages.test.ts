import { createDelayQueue, type DelayQueue, redisStore, StoreUnavailableError } from '@sluice/core'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisSentinel } from '../../support/redis-sentinel.ts'
import { clientKinds, connection, ioredis } from '../rate-limit/clients.ts'
import { type Outage, outages, place } from '../rate-limit/outages.ts'

/** Nothing here waits for a visibility. */
const options = { name: 'queue', visibilityMs: 120_000, sweepMs: 1000 }
const DUE_MS = 700
/** For who sees no outage. */
const calm = { ...options, timeoutMs: 10_000 }
const patient = { withinMs: 30_000 }

/** Those that refuse; from then on, whoever was let in before. */
const refusals: readonly Outage[] = [
  {
    name: 'asking for a password (NOAUTH)',
    begin: async ({ server, link }) => {
      admins.set(server.port, await admin(server.port))
      await admins.get(server.port)?.config('SET', 'requirepass', 'secret')
      link.cut()
    },
    end: async ({ server }) => {
      await admins.get(server.port)?.config('SET', 'requirepass', '')
      admins.get(server.port)?.disconnect()
    },
  },
  {
    name: 'forbidding scripts (NOPERM)',
    begin: async ({ server }) => {
      await server.command('ACL', 'SETUSER', 'default', '-@scripting')
    },
    end: async ({ server }) => {
      await server.command('ACL', 'SETUSER', 'default', '+@all')
    },
  },
]
const admins = new Map<number, Redis>()

/** Clients differ in what they do about a connection that breaks. */
const cases = [...outages, ...refusals].flatMap((outage) => {
  const breaks = /cut|killed|silent|NOAUTH/.test(outage.name)
  return (breaks ? clientKinds : [ioredis]).map((kind) => ({ outage, kind }))
})

describe('a Redis that fails', { concurrent: true }, () => {
  test.each(cases)(
    'D4: $outage.name ($kind.name) delays tasks, and loses none and repeats none',
    async ({ outage, kind }) => {
      await using at = await place(outage)
      await using client = kind.open(at.link.port)
      await eventually(() => client.isReady(), patient)
      const queue = createDelayQueue({ ...options, store: redisStore(client.redis) })
      const runs: string[] = []
      let finish = (): void => {}
      const over = new Promise<void>((resolve) => {
        finish = resolve
      })
      await using _worker = queue.work(({ id, attempt }) => {
        runs.push(`${id} ${attempt}`)
        if (id === 'running') return over
      })
      await surely(() => queue.schedule('running', 0, { delayMs: 0 }))
      await eventually(() => runs.length === 1, patient)
      await surely(() => queue.schedule('due then', 0, { delayMs: DUE_MS }))
      const dueAt = performance.now() + DUE_MS

      await outage.begin(at)
      const refused = queue.schedule('refused', 0, { delayMs: 0 })
      await expect(refused).rejects.toThrow(StoreUnavailableError)
      finish()
      await eventually(() => performance.now() > dueAt)

      await outage.end(at)
      await surely(() => queue.schedule('later', 0, { delayMs: 0 }))
      const empty = outage.name.includes('empty')
      const expected = empty ? ['later 1'] : ['due then 1', 'later 1']
      await eventually(() => expect(runs).toEqual(expect.arrayContaining(expected)), patient)
      await eventually(() => isIdle(queue), patient)
      // Who schedules again may do so for the second time in vain, or when the first one is done already.
      const rest = runs.filter((run) => run !== 'refused 1' && run !== 'later 1')
      expect(rest).toEqual(empty ? ['running 1'] : ['running 1', 'due then 1'])
    },
  )
})

test('D4: a worker that begins while Redis is away runs what is due when it has come', async () => {
  await using at = await place()
  await using direct = ioredis.open(at.server.port)
  const witness = createDelayQueue({ ...calm, store: redisStore(direct.redis) })
  await witness.schedule('early', 0, { delayMs: 0 })
  at.link.refuse()
  await using client = ioredis.open(at.link.port)
  const queue = createDelayQueue({ ...options, store: redisStore(client.redis) })
  const runs: string[] = []
  await using _worker = queue.work(({ id }) => runs.push(id))
  await expect(queue.stats()).rejects.toThrow(StoreUnavailableError)
  await at.link.accept()
  await eventually(() => runs.length === 1, patient)
  await witness.schedule('late', 0, { delayMs: 0 })
  await eventually(() => runs.length === 2, patient)
})

test('D4: a worker whose client gave up listening while Redis was away is woken again afterwards', async () => {
  await using at = await place()
  await using direct = ioredis.open(at.server.port)
  const witness = createDelayQueue({ ...calm, store: redisStore(direct.redis) })
  at.link.refuse()
  const impatient = new Redis(at.link.port, '127.0.0.1', { maxRetriesPerRequest: 0 })
  await using client = connection(impatient)
  const store = redisStore(client.redis)
  const queue = createDelayQueue({ ...options, store, sweepMs: 3_600_000 })
  const runs: string[] = []
  await using _worker = queue.work(({ id }) => runs.push(id))
  await store.delay?.watch('queue', () => {}).ready // it was refused
  await at.link.accept()
  await surely(() => queue.stats())
  // A task that came before it listens woke nobody, and later ones do not while that one waits.
  const isWoken = async () => {
    await witness.schedule('task', 0, { delayMs: 0 })
    await eventually(() => runs.length > 0, { withinMs: 500 }).catch(() => witness.cancel('task'))
    return runs.length > 0
  }
  await eventually(isWoken, patient)
  await store.close()
})

test('D4: tasks are scheduled, and run by sweeps, where nobody may send or hear hints', async () => {
  await using at = await place()
  const rules = ['on', '>secret', '~*', 'resetchannels', '+@all']
  await at.server.command('ACL', 'SETUSER', 'deaf', ...rules)
  const own = { username: 'deaf', password: 'secret' }
  await using client = connection(new Redis(at.server.port, '127.0.0.1', own))
  const store = redisStore(client.redis)
  const queue = createDelayQueue({ ...calm, store, sweepMs: 300, backoff: () => 0 })
  const runs: string[] = []
  await using _worker = queue.work(({ id, attempt }) => {
    runs.push(`${id} ${attempt}`)
    if (attempt === 1) throw new Error('as it should')
  })
  for (const id of ['first', 'second']) {
    await queue.schedule(id, 0, { delayMs: 0 })
    await eventually(() => runs.includes(`${id} 2`), patient)
  }
  await eventually(() => isIdle(queue))
  expect(runs).toEqual(['first 1', 'first 2', 'second 1', 'second 2'])
})

test('D4: a failover delays what the new master knows, and no more', async () => {
  await using set = await RedisSentinel.start({ sentinels: 1 })
  await using client = connection(new Redis({ name: set.name, sentinels: set.addresses }))
  await eventually(() => client.isReady(), patient)
  const queue = createDelayQueue({ ...options, store: redisStore(client.redis) })
  const runs: string[] = []
  await surely(() => queue.schedule('waiting', 0, { delayMs: 2000 }))
  await surely(() => queue.schedule('known', 0, { delayMs: 0 }))
  await using _worker = queue.work(({ id, attempt }) => runs.push(`${id} ${attempt}`))
  await eventually(() => runs.length === 1, patient)
  expect(await (client.redis as Redis).wait(1, 10_000)).toBe(1)
  await set.failover()
  await eventually(() => runs.length === 2, patient)
  await surely(() => queue.schedule('new', 0, { delayMs: 0 }))
  await eventually(() => runs.includes('new 1'), patient)
  expect(runs.filter((run) => run !== 'new 1')).toEqual(['known 1', 'waiting 1'])
})

async function admin(port: number): Promise<Redis> {
  const redis = new Redis(port, '127.0.0.1')
  await redis.ping()
  return redis
}

/** As an application should: again, until the store has answered. */
function surely<T>(act: () => Promise<T>): Promise<T> {
  return eventually(act, { ...patient, everyMs: 100 })
}

async function isIdle(queue: DelayQueue<unknown>): Promise<boolean> {
  const { scheduled, due, processing, dead } = await queue.stats()
  return scheduled + due + processing + dead === 0
}
