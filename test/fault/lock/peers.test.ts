import { describe, expect, test } from 'vitest'
import { RedisServer } from '../../support/redis-server.ts'
import { check, type Rule } from './checker.ts'
import type { PackageName } from './packages/index.ts'
import { Rig, type RigOptions } from './rig.ts'
import type { Worker } from './worker.ts'

describe.concurrent('the rig finds in popular packages what it would find in this one', () => {
  test.each<PackageName>(['redlock', '@sesamecare-oss/redlock', 'redlock-universal'])(
    'the late write of a %s holder that was stopped past its lease is accepted: there is no fence',
    async (name) => {
      const options = { package: name, leaseMs: 300, workMs: 50 }
      const found = await search('late-write-accepted', options, async (rig) => {
        await rig.stop(await rig.holder(), 600)
      })
      expect(found).toContain('late-write-accepted')
    },
  )

  test('redlock-universal counts a lease from when the reply came: when that is slow, two hold the lock', async () => {
    // The work is longer than the lease, so that the lock changes hands when a lease ends.
    const slow = { package: 'redlock-universal', callers: 1, leaseMs: 300, workMs: 600 } as const
    const found = await search('overlap', slow, async (rig) => {
      rig.workers[0]?.link?.delayReplies(150)
      await rig.holder()
    })
    expect(found).toContain('overlap')
  })

  test('redis-semaphore does not know its own lock when the reply was lost, and leaves it behind', async () => {
    await using server = await RedisServer.start()
    const options = { package: 'redis-semaphore', waitMs: 500, processes: 2 } as const
    await using rig = await Rig.start(server, options)
    const [first] = rig.workers as [Worker]
    const lost = first.link?.dropReply(1, 'SET') // the first one gets the lock
    first.begin()
    await lost?.happened
    expect(rulesOf(await rig.finish())).toContain('leftover')
  })
})

/**
 * What the checker finds in the history of two processes. Faults hit by chance, so `happen` is tried again, some times,
 * until it finds what it must.
 */
async function search(
  wanted: Rule,
  options: RigOptions,
  happen: (rig: Rig) => Promise<void>,
): Promise<Rule[]> {
  await using server = await RedisServer.start()
  await using rig = await Rig.start(server, { processes: 2, ...options })
  rig.begin()
  for (let tries = 0; tries < 40 && !rulesOf(await rig.history()).includes(wanted); tries++)
    await happen(rig)
  return rulesOf(await rig.finish())
}

function rulesOf(history: Parameters<typeof check>[0]): Rule[] {
  return check(history)
    .map(({ rule }) => rule)
    .filter((rule) => rule !== 'unanswered') // of a history that goes on
}
