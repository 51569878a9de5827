import { createRateLimiter, fixedWindow, type RateLimiter, redisStore } from '@sluice/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisCluster } from '../../support/redis-cluster.ts'
import type { RedisServer } from '../../support/redis-server.ts'
import { type ClusterConnection, clusterKinds } from './cluster-clients.ts'
import { withoutTtl } from './keys.ts'
import { inTime, Limiters } from './modes.ts'

describe.each(clusterKinds)('a cluster over $name that loses a master', ({ open }) => {
  let cluster: RedisCluster
  let client: ClusterConnection

  beforeAll(async () => {
    cluster = await RedisCluster.start()
    client = await open(cluster)
  })

  afterAll(async () => {
    await client[Symbol.asyncDispose]()
    await cluster[Symbol.asyncDispose]()
  })

  test('R31, R33: is decided for by every mode, and decides again a second after its return', async () => {
    const limiters = new Limiters(redisStore(client.redis))
    const subject = 'lost'
    const lost = await ownerOf(subject)
    expect(await limiters.areServed(subject)).toBe(true)
    await lost.kill()
    for (let round = 0; round < 3; round++) await limiters.consume(subject)
    await lost.restart()
    await eventually(
      async () => String(await lost.command('CLUSTER', 'INFO')).includes('cluster_state:ok'),
      { withinMs: 20_000 },
    )
    await eventually(() => inTime(client.write(subject)), { withinMs: 20_000 })
    await eventually(() => limiters.areServed(subject), { withinMs: 1000 })
    expect(limiters.wrong).toEqual([])
    expect(await withoutTtl(lost)).toEqual([])
  })

  test('R31, R33: still decides for the subjects of the others', async () => {
    for (const node of cluster.nodes)
      await node.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
    const policy = fixedWindow({ limit: 1000, windowMs: 600_000 })
    const limiter = createRateLimiter({ store: redisStore(client.redis), policy })
    for (const lost of cluster.nodes) {
      const gone = await subjectOf([lost])
      const left = await subjectOf(cluster.nodes.filter((node) => node !== lost))
      expect((await consume(limiter, gone)).source).toBe('store')

      lost.pause()
      const calls = Array.from({ length: 10 }, () => consume(limiter, gone))
      for (const { source } of await Promise.all(calls)) expect(source).toBe('local')
      const isServed = async (subject: string) =>
        (await consume(limiter, subject)).source === 'store'
      await eventually(() => isServed(left), { withinMs: 1000 })
      lost.resume()
      await eventually(() => isServed(gone), { withinMs: 1000 })
    }
  })

  async function ownerOf(subject: string): Promise<RedisServer> {
    return cluster.ownerOf(await cluster.slotOf(`{${subject}}`))
  }

  async function subjectOf(nodes: readonly RedisServer[]): Promise<string> {
    for (let number = 0; ; number++) {
      const subject = `subject-${number}`
      if (nodes.includes(await ownerOf(subject))) return subject
    }
  }
})

function consume(limiter: RateLimiter, subject: string) {
  return inTime(limiter.consume(subject))
}
