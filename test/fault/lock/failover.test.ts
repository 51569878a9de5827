import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { RedisSentinel } from '../../support/redis-sentinel.ts'
import { check } from './checker.ts'
import { type History, of } from './history.ts'
import { nowMs } from './monotonic.ts'
import { Rig } from './rig.ts'

const load = { processes: 2, leaseMs: 1000, waitMs: 2000 }

describe('over a failover to a replica that missed the last writes', () => {
  let counting: History
  let sluice: History

  beforeAll(async () => {
    await using set = await RedisSentinel.start({ sentinels: 1 })
    await using naive = await Rig.start(set, { ...load, package: 'counting', key: 'order-8' })
    await using rig = await Rig.start(set, load)
    const rigs = [naive, rig]
    for (const each of rigs) each.begin()
    await Promise.all(rigs.map((each) => each.holder()))
    set.replica.pause()
    await set.master.command('CLIENT', 'KILL', 'TYPE', 'replica')
    await sleep(300) // grants that the replica will never hear of
    for (const each of rigs) each.note({ what: 'forgot', atMs: nowMs() })
    await set.master.kill()
    set.replica.resume()
    await set.failover()
    for (let turn = 0; turn < 4; turn++) await Promise.all(rigs.map((each) => each.holder()))
    ;[counting, sluice] = (await Promise.all(rigs.map((each) => each.finish()))) as [
      History,
      History,
    ]
  })

  test('L2: a plain counter as fence grants the same fence twice, and the checker finds it', () => {
    expect(check(counting).map(({ rule }) => rule)).toContain('fence-not-rising')
    const fences = of(counting, 'granted').map(({ fence }) => fence)
    expect(new Set(fences).size).toBeLessThan(fences.length)
  })

  test('L2: fences go on rising, since the clock of the new master is past them', () => {
    const [forgot] = of(sluice, 'forgot')
    const after = of(sluice, 'granted').filter(({ atMs }) => atMs > Number(forgot?.atMs))
    expect(after).not.toEqual([])
    expect(check(sluice)).toEqual([])
  })
})
