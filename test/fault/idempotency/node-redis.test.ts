import { createIdempotency, type Idempotency, type RedisClient, redisStore } from '@sluice/core'
import { createClientPool, createSentinel } from 'redis'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisSentinel } from '../../support/redis-sentinel.ts'
import { RedisServer } from '../../support/redis-server.ts'

const response = { status: 201, headers: [['x', 'ü']], body: Buffer.from([0, 0xff, 0xfe]) } as const

test('I5, I11, I15: a sentinel client of node-redis replays bytes, wakes who waits, and survives a failover', async () => {
  await using site = await RedisSentinel.start()
  const redis = createSentinel({ name: site.name, sentinelRootNodes: site.addresses })
  redis.on('error', () => {})
  await redis.connect()
  const store = redisStore(redis)
  try {
    const idempotency = createIdempotency({ store, timeoutMs: 10_000 })
    await completesAndWakes(idempotency)
    const kept = await begin(idempotency, 'kept')
    await eventually(() => isReplicated(site))
    await site.failover()
    const settled = () => kept.complete(response).catch(() => false)
    await eventually(async () => (await settled()) === 'settled', { withinMs: 20_000 })
    expect(await replayed(idempotency, 'kept')).toEqual(response)
    expect(await replayed(idempotency, 'order')).toEqual(response)
  } finally {
    await store.close()
    await redis.destroy()
  }
})

test('I5, I15: a pool of node-redis replays bytes, and wakes who waits', async () => {
  await using server = await RedisServer.start()
  const redis = createClientPool({ url: server.url })
  redis.on('error', () => {})
  await redis.connect()
  const store = redisStore(redis as RedisClient)
  try {
    await completesAndWakes(createIdempotency({ store, timeoutMs: 10_000 }))
  } finally {
    await store.close()
    redis.destroy()
  }
})

async function completesAndWakes(idempotency: Idempotency): Promise<void> {
  const first = await begin(idempotency, 'order')
  const waiting = idempotency.begin({ key: 'order', fingerprint: 'x', waitMs: 20_000 })
  await eventually(async () => (await idempotency.inspect('order'))?.state === 'claimed')
  expect(await first.complete(response)).toBe('settled')
  expect(await waiting).toEqual({ state: 'replay', response })
  expect(await replayed(idempotency, 'order')).toEqual(response)
  await (await begin(idempotency, 'lost')).abandon()
  const unknown: string[] = []
  for await (const { key } of idempotency.unknown()) unknown.push(key)
  expect(unknown).toEqual(['lost'])
}

async function begin(idempotency: Idempotency, key: string) {
  const begun = await idempotency.begin({ key, fingerprint: 'x' })
  if (begun.state !== 'started') throw new Error(begun.state)
  return begun.execution
}

async function replayed(idempotency: Idempotency, key: string): Promise<unknown> {
  const begun = await idempotency.begin({ key, fingerprint: 'x' })
  return begun.state === 'replay' ? begun.response : begun.state
}

async function isReplicated({ master, replica }: RedisSentinel): Promise<boolean> {
  const [one, other] = await Promise.all([master.command('DBSIZE'), replica.command('DBSIZE')])
  return one === other
}
