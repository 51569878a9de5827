import { describe, expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'
import { check, type Rule } from './checker.ts'
import type { PackageName } from './packages/index.ts'
import { Rig, type RigOptions } from './rig.ts'

describe('the rig finds in popular packages what it would find in this one', () => {
  test.each<PackageName>(['redlock', '@sesamecare-oss/redlock', 'redlock-universal'])(
    'the late write of a %s holder that was stopped past its lease is accepted: there is no fence',
    async (name) => {
      const found = await run({ package: name, leaseMs: 300, workMs: 50 }, async (rig) => {
        await rig.stop(await rig.holder(), 600)
      })
      expect(found).toContain('late-write-accepted')
    },
  )

  test('redlock-universal counts a lease from when the reply came: when that is slow, two hold the lock', async () => {
    const slow = { package: 'redlock-universal', leaseMs: 300, workMs: 300 } as const
    const found = await run(slow, async (rig) => {
      rig.workers[0]?.link?.delayReplies(150)
      for (let turn = 0; turn < 4; turn++) await rig.holder()
    })
    expect(found).toContain('overlap')
  })

  test('redis-semaphore does not know its own lock when the reply was lost, and leaves it behind', async () => {
    const found = await run({ package: 'redis-semaphore', waitMs: 500 }, async (rig) => {
      await rig.workers[0]?.link?.dropReply(1, 'SET').happened
    })
    expect(found).toContain('leftover')
  })
})

/** What the checker finds in the history of some processes of which one suffers `fault`. */
async function run(options: RigOptions, fault: (rig: Rig) => Promise<void>): Promise<Rule[]> {
  await using server = await RedisServer.start()
  await using rig = await Rig.start(server, { processes: 2, ...options })
  rig.begin()
  await fault(rig)
  return check(await rig.finish()).map(({ rule }) => rule)
}
